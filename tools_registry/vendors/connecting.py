"""An organization's connection in an admin's hands: make it, check it, end it.

A connection begins with a check that passed. One that fails a check later is `failing`, and goes on
being tried.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from django.db import transaction
from django.utils import timezone

from tools_registry import registry, vendors
from tools_registry.api import ToolFailure, VendorConnection
from tools_registry.models import ConnectionState, Credential, IntegrationMode
from tools_registry.vendors import client, connection_status, credentials
from workspace import changes
from workspace.models import Organization

# A person waits for the result.
CHECK_SECONDS: Final = 8.0


def mode_of(organization: Organization, integration: str) -> IntegrationMode:
    """The row of an organization's integration; one that is not saved where there is none."""
    found = IntegrationMode.objects.filter(organization=organization, integration=integration)
    return found.first() or IntegrationMode(organization=organization, integration=integration)


def has_credential(mode: IntegrationMode) -> bool:
    return Credential.objects.filter(mode=mode.pk).exists()


def keep(mode: IntegrationMode, secret: str, settings: Mapping[str, str]) -> IntegrationMode:
    """Keep what an admin filled in; an empty secret leaves the one that is there."""
    with transaction.atomic():
        kept, _ = IntegrationMode.objects.update_or_create(
            organization=mode.organization,
            integration=mode.integration,
            defaults={"settings": dict(settings)},
        )
        if secret:
            credentials.store(kept, secret)
    return kept


def check(mode: IntegrationMode) -> str:
    """Ask the vendor who it is talking to; returns what it says.

    The row says afterwards how it went. Raises ToolFailure when it went wrong.
    """
    connection = registry.connection(mode.integration)
    if connection is None:
        raise LookupError(mode.integration)
    # The admin wants the result of a request now, even if the circuit breaker is open.
    client.breakers.record_success((mode.organization_id, mode.integration))
    try:
        said = _run_check(mode, connection)
    except ToolFailure as failure:
        _went_wrong(mode, failure.message)
        raise
    _went_well(mode)
    return connection_status.short(said)


def disconnect(mode: IntegrationMode) -> None:
    """Forget the credential; every call is refused from the next request on."""
    with transaction.atomic():
        credentials.forget(mode)
        IntegrationMode.objects.filter(pk=mode.pk).update(
            connection=ConnectionState.NOT_CONNECTED,
            connected_at=None,
            last_error="",
            last_error_at=None,
            updated_at=timezone.now(),
        )
    changes.publish([mode.organization_id])


def _run_check(mode: IntegrationMode, connection: VendorConnection) -> str:
    short = replace(connection, deadline=min(connection.deadline, CHECK_SECONDS))
    with vendors.hold_slot(vendors.find_upstream(mode.organization_id, mode.integration)):
        try:
            return short.check(vendors.make_vendor(short, mode.organization_id, mode.integration))
        except (LookupError, TypeError, ValueError, AttributeError) as surprise:
            # The author's check has met an answer of another shape.
            raise ToolFailure("The vendor returned an unexpected response.") from surprise


@transaction.atomic
def _went_well(mode: IntegrationMode) -> None:
    now, rows = timezone.now(), IntegrationMode.objects.filter(pk=mode.pk)
    if not _is_still_there(mode):
        return
    rows.filter(connection=ConnectionState.NOT_CONNECTED).update(connected_at=now)
    rows.update(
        connection=ConnectionState.CONNECTED, last_error="", last_error_at=None, updated_at=now
    )
    changes.publish([mode.organization_id])


@transaction.atomic
def _went_wrong(mode: IntegrationMode, message: str) -> None:
    now, rows = timezone.now(), IntegrationMode.objects.filter(pk=mode.pk)
    if not _is_still_there(mode):
        return
    rows.update(last_error=connection_status.short(message), last_error_at=now, updated_at=now)
    rows.filter(connection=ConnectionState.CONNECTED).update(connection=ConnectionState.FAILING)


def _is_still_there(mode: IntegrationMode) -> bool:
    """Whether the connection still exists after the request to the vendor; locks the row."""
    # The lock first: disconnecting deletes the credential and writes the row in one transaction.
    IntegrationMode.objects.select_for_update().filter(pk=mode.pk).first()
    return has_credential(mode)
