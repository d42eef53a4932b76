"""The way to a vendor: an organization's credential, and requests made with it."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from uuid import UUID

from django.conf import settings

from foundation.outbound.share import NoRoom, Room
from tools_registry import registry
from tools_registry.types import Channel, Connection, IntegrationFailure, Silence, Vendor
from tools_registry.vendor import NotConnected
from tools_registry.vendors.client import OrganizationVendor
from tools_registry.vendors.patience import Patience


def of(organization_id: UUID, integration: str, channel: Channel | None = None) -> Vendor:
    """The vendor that a tool of this integration speaks to; nothing is opened before it does.

    What waits for the vendor stops once the caller behind the channel has gone.
    """
    connection = registry.connection(integration) if integration else None
    if connection is None:
        return NotConnected()
    return by_way_of(connection, organization_id, integration, channel)


def is_connected_to(integration: str) -> bool:
    """Whether calls of an integration may wait for a vendor at all."""
    return bool(integration) and registry.connection(integration) is not None


def by_way_of(
    connection: Connection, organization_id: UUID, integration: str, channel: Channel | None = None
) -> Vendor:
    """As `of`, with the connection as it is given here."""
    patience = Patience(connection.deadline, channel or Silence())
    return OrganizationVendor(integration, connection, organization_id, patience)


def room(organization_id: UUID, integration: str) -> AbstractContextManager[None]:
    """A place among the calls that may wait for vendors now, for as long as the block runs.

    Raises IntegrationFailure at once where there is none. What speaks to no vendor needs none.
    """
    return _place(organization_id) if is_connected_to(integration) else nullcontext()


@contextmanager
def _place(organization_id: UUID) -> Iterator[None]:
    try:
        with _room().place(organization_id):
            yield
    except NoRoom:
        message = "Too many calls wait for this organization's integrations. Try again in a moment."
        raise IntegrationFailure(message) from None


@cache
def _room() -> Room:
    return Room(settings.HALO_VENDOR_CALLS)
