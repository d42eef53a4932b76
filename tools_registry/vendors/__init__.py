"""The way to a vendor: an organization's credential, and requests made with it."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from uuid import UUID

from django.conf import settings

from foundation.concurrency.concurrency_limit import (
    ConcurrencyLimit,
    ConcurrencyLimitReached,
    fair_share,
)
from tools_registry import registry
from tools_registry.api import Channel, Connection, IntegrationFailure, Silence, Vendor
from tools_registry.api.vendor import NotConnected
from tools_registry.vendors.client import OrganizationVendor
from tools_registry.vendors.retries import Deadline


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
    deadline = Deadline(connection.deadline, channel or Silence())
    return OrganizationVendor(integration, connection, organization_id, deadline)


def limited_call(organization_id: UUID, integration: str) -> AbstractContextManager[None]:
    """Count the block as one of the calls that wait for vendors; calls without a vendor are not.

    Raises IntegrationFailure at once if HALO_VENDOR_CALLS or the organization's share is reached.
    """
    return counted(organization_id) if is_connected_to(integration) else nullcontext()


@contextmanager
def counted(organization_id: UUID) -> Iterator[None]:
    """As `limited_call`, for a call that waits for another server without an integration."""
    try:
        with _calls().hold(organization_id):
            yield
    except ConcurrencyLimitReached:
        message = "Too many integration calls are in progress. Try again in a moment."
        raise IntegrationFailure(message) from None


@cache
def _calls() -> ConcurrencyLimit:
    most = settings.HALO_VENDOR_CALLS
    return ConcurrencyLimit(most, fair_share(most))
