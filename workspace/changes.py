"""Notifies open streams that the permissions of an organization's tokens have changed.

Every change of switches, flags, memberships, clients and authorizations is published. The streams
then compute whether the change concerns them.
"""

from collections.abc import Iterable
from uuid import UUID

from foundation import pubsub


def topic(organization_id: UUID) -> str:
    """Returns the topic of an organization's changes."""
    return f"tools:{organization_id}"


def publish(organizations: Iterable[UUID]) -> None:
    """Notifies the streams of these organizations, once the transaction is committed."""
    for organization_id in {*organizations}:
        pubsub.publish(topic(organization_id))
