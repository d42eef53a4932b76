from importlib import import_module

from django.conf import settings

from foundation.background import task


@task(name="console.prune_sessions")
def prune_sessions() -> None:
    """Deletes expired sessions, of users and of visitors who only opened a sign-in page."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
