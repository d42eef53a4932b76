from celery import shared_task

from oauth import cleanup


@shared_task(name="oauth.prune_unused_clients")
def prune_unused_clients() -> int:
    return cleanup.prune_unused_clients()


@shared_task(name="oauth.prune_spent_credentials")
def prune_spent_credentials() -> int:
    return cleanup.prune_spent_credentials()


@shared_task(name="oauth.forget_replies")
def forget_replies() -> int:
    return cleanup.forget_replies()
