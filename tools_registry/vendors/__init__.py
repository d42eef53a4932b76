"""The way to a vendor: an organization's credential, and requests made with it."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from tools_registry import registry
from tools_registry.api import (
    Cancelled,
    Channel,
    Silence,
    ToolFailure,
    Vendor,
    VendorConnection,
)
from tools_registry.api.vendor import NotConnected
from tools_registry.vendors import slots
from tools_registry.vendors.client import OpenedCredential, OrganizationVendor
from tools_registry.vendors.retries import CallDeadline
from tools_registry.vendors.slots import Upstream, UpstreamBusy


def get_vendor(
    organization_id: UUID, integration: str, channel: Channel | None = None, *, waited: float = 0.0
) -> Vendor:
    """The vendor that a tool of this integration speaks to; nothing is opened before it does.

    What waits for the vendor stops once the caller behind the channel has gone. `waited` is the
    time in seconds that the call has waited for its slot, a part of its deadline.
    """
    connection = registry.connection(integration) if integration else None
    if connection is None:
        return NotConnected()
    return make_vendor(connection, organization_id, integration, channel, waited=waited)


def is_connected_to(integration: str) -> bool:
    """Whether calls of an integration may wait for a vendor at all."""
    return bool(integration) and registry.connection(integration) is not None


def make_vendor(
    connection: VendorConnection,
    organization_id: UUID,
    integration: str,
    channel: Channel | None = None,
    *,
    waited: float = 0.0,
    opened: OpenedCredential | None = None,
) -> Vendor:
    """As `get_vendor`, with the connection, and the credential if any, as they are given here."""
    deadline = CallDeadline(connection.deadline - waited, channel or Silence())
    return OrganizationVendor(integration, connection, organization_id, deadline, opened)


def explain_failure(vendor: Vendor, failure: ToolFailure) -> ToolFailure:
    """The failure of a call that changes something, with what became of the change."""
    return vendor.explain_failure(failure) if isinstance(vendor, OrganizationVendor) else failure


def find_upstream(organization_id: UUID, integration: str) -> Upstream | None:
    """Returns what a call of an integration waits for, None if it waits for no vendor."""
    connection = registry.connection(integration) if integration else None
    if connection is None:
        return None
    return Upstream(organization_id, integration, integration, connection.deadline)


@contextmanager
def hold_slot(upstream: Upstream | None, channel: Channel | None = None) -> Iterator[float]:
    """Counts the block as one of the calls that wait for other servers (`slots.Slots`).

    Returns the seconds that it has waited for its slot; without an upstream there is nothing to
    wait for. Raises UpstreamBusy, and Cancelled once the caller behind the channel has gone.
    """
    if upstream is None:
        yield 0.0
        return
    is_cancelled = (channel or Silence()).is_cancelled
    held = slots.get_process_slots()
    try:
        waited = held.acquire(upstream, is_cancelled)
    except UpstreamBusy:
        if is_cancelled():
            raise Cancelled from None
        raise
    try:
        yield waited
    finally:
        held.release(upstream)
