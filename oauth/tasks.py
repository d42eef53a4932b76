from foundation.background import task
from oauth import cleanup


@task(name="oauth.prune_unused_clients")
def prune_unused_clients() -> int:
    return cleanup.prune_unused_clients()


@task(name="oauth.prune_spent_credentials")
def prune_spent_credentials() -> int:
    return cleanup.prune_spent_credentials()


@task(name="oauth.forget_replies")
def forget_replies() -> int:
    return cleanup.forget_replies()
