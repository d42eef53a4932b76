from foundation.background import task
from oauth.consent import obsolete_scopes
from oauth.grants import cleanup


@task(name="oauth.prune_unused_clients")
def prune_unused_clients() -> int:
    return cleanup.prune_unused_clients()


@task(name="oauth.prune_spent_credentials")
def prune_spent_credentials() -> int:
    return cleanup.prune_spent_credentials()


@task(name="oauth.forget_replies")
def forget_replies() -> int:
    return cleanup.forget_replies()


@task(name="oauth.remove_obsolete_scopes")
def remove_obsolete_scopes() -> int:
    return obsolete_scopes.remove()
