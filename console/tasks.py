from importlib import import_module

from django.conf import settings

from foundation.background import task


@task(name="console.prune_sessions")
def prune_sessions() -> None:
    """Delete the sessions that are over, of people and of who only opened a sign-in page."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
