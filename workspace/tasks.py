from foundation.background import task
from workspace import outbox


@task(name="workspace.send_mails")
def send_mails() -> int:
    """Sends the mails whose time has come; returns how many."""
    return outbox.send_due()
