"""Word that what the tokens of an organization may see or do is different now.

Whoever changes that publishes it, on every floor: switches, flags, memberships, clients and
authorizations. Streams that listen then find out themselves what is new to them, if anything.
"""

from collections.abc import Iterable
from uuid import UUID

from foundation import notices


def topic(organization_id: UUID) -> str:
    """The topic to wait for; its notices say nothing but when to look."""
    return f"tools:{organization_id}"


def publish(organizations: Iterable[UUID]) -> None:
    """Wake everybody who listens in these organizations, once the transaction is committed."""
    for organization_id in {*organizations}:
        notices.post(topic(organization_id))
