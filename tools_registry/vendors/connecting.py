"""An organization's connection in an admin's hands: make it, check it, end it.

A connection begins with a check that passed. One that fails a check later is `failing`, and goes on
being tried. What replaces its credential or settings is checked first, and kept only then. Every
connection is checked once a day; what calls need and the vendor does not have is listed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

import structlog
from django.db import transaction
from django.utils import timezone

from customers import customers
from foundation import leases
from tools_registry import registry, vendors
from tools_registry.api import (
    PermissionRefused,
    ToolFailure,
    VendorAccount,
    VendorConnection,
)
from tools_registry.models import ConnectionState, Credential, IntegrationMode
from tools_registry.vendors import client, connection_status, credentials
from tools_registry.vendors.client import OpenedCredential
from workspace import changes
from workspace.models import Organization

log = structlog.get_logger(__name__)
# A person waits for the result.
CHECK_SECONDS: Final = 8.0
# The account that ids of customers came from, if nobody can find out which one it was.
UNKNOWN_ACCOUNT: Final = "unknown"


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


def keep_first(mode: IntegrationMode, secret: str, settings: Mapping[str, str]) -> IntegrationMode:
    """As `keep`, for what is checked afterwards: no call uses it before."""
    with transaction.atomic():
        kept = keep(mode, secret, settings)
        kept.connection = ConnectionState.NOT_CONNECTED
        kept.save(update_fields=["connection", "updated_at"])
    changes.publish([kept.organization_id])
    return kept


@dataclass(frozen=True, slots=True)
class Replacement:
    """A credential and settings that are to replace those of a connection; an empty secret stays.

    `replaced` is the id of the credential that was there when they were filled in.
    """

    secret: str = field(repr=False)
    settings: Mapping[str, str]
    replaced: UUID
    allows_other_account: bool = False


def prepare_replacement(
    mode: IntegrationMode,
    secret: str,
    settings: Mapping[str, str],
    *,
    allows_other_account: bool,
) -> Replacement | None:
    """Returns what replaces a connection that works or has worked; None for the first one."""
    is_connected = mode.connection != ConnectionState.NOT_CONNECTED
    kept = Credential.objects.filter(mode=mode.pk).first() if is_connected else None
    if kept is None or not credentials.is_readable(kept):
        return None
    return Replacement(secret, settings, kept.pk, allows_other_account)


def replace_connection(
    mode: IntegrationMode, new: Replacement, on_kept: Callable[[IntegrationMode], None]
) -> tuple[str, str]:
    """Check what is new, and keep it if the vendor takes it; `on_kept` belongs to that change.

    Returns what the vendor says to the old credential, empty if it refuses it, and to the new one.
    Raises ToolFailure, and leaves the connection as it was.
    """
    connection = _connection(mode)
    try:
        before = _run_check(mode, connection)
    except ToolFailure:
        before = VendorAccount("")
    secret = new.secret or credentials.read_secret(Credential.objects.get(pk=new.replaced))
    # A row that is not stored: what the vendor says to it changes nothing of the connection.
    candidate = IntegrationMode(
        organization_id=mode.organization_id,
        integration=mode.integration,
        settings=dict(new.settings),
    )
    said = _run_check(mode, connection, OpenedCredential(secret, candidate))
    if said.wrong_settings and new.settings != mode.settings:
        raise ToolFailure(" ".join(said.wrong_settings))
    with transaction.atomic():
        IntegrationMode.objects.select_for_update().filter(pk=mode.pk).first()
        if not Credential.objects.filter(mode=mode.pk, pk=new.replaced).exists():
            raise ToolFailure("The connection was changed meanwhile.")
        # The same credential is of the same account, whether or not that is known by now.
        known = replace(before, id=before.id or UNKNOWN_ACCOUNT) if new.secret else None
        _take_account(mode, said, known, allows_other=new.allows_other_account)
        kept = keep(mode, new.secret, new.settings)
        on_kept(kept)
        _went_well(kept, said)
    return _describe(before), _describe(said)


def check(mode: IntegrationMode, *, allows_other_account: bool = False) -> str:
    """Ask the vendor who it is talking to; returns what it says.

    The row says afterwards how it went, unless it was changed meanwhile. Raises ToolFailure when it
    went wrong, also for another account than the connection was of before.
    """
    asked = _find_credential(mode)
    try:
        return _describe(_check_and_keep(mode, asked, allows_other_account=allows_other_account))
    except PermissionRefused as failure:
        _list_missing(mode, asked, failure.message)
        raise
    except ToolFailure as failure:
        _went_wrong(mode, asked, failure.message)
        raise


def check_all() -> int:
    """Check every connection again; returns how many vendors have answered.

    A vendor that is away, or refuses a permission of the check, does not make a connection
    `failing`; everything else that a check finds wrong does.
    """
    connected = IntegrationMode.objects.exclude(connection=ConnectionState.NOT_CONNECTED)
    answered = 0
    for key in list(connected.filter(credential__isnull=False).values_list("pk", flat=True)):
        if leases.is_stopping():
            break
        mode = connected.filter(pk=key).first()
        if mode is None or registry.connection(mode.integration) is None:
            continue
        try:
            answered += _check_again(mode)
        except Exception:
            # The other connections are checked all the same.
            log.exception("connection_check_failed", integration=mode.integration)
    return answered


def _check_again(mode: IntegrationMode) -> bool:
    """Returns whether the vendor has answered as it should."""
    asked = _find_credential(mode)
    try:
        _check_and_keep(mode, asked)
    except PermissionRefused as failure:
        _list_missing(mode, asked, failure.message)
    except ToolFailure as failure:
        if failure.kind == ToolFailure.kind:  # of the check itself
            _went_wrong(mode, asked, failure.message)
        else:
            log.info("connection_not_checked", integration=mode.integration, kind=failure.kind)
    else:
        return True
    return False


def disconnect(mode: IntegrationMode) -> None:
    """Forget the credential; every call is refused from the next request on."""
    with transaction.atomic():
        credentials.forget(mode)
        IntegrationMode.objects.filter(pk=mode.pk).update(
            connection=ConnectionState.NOT_CONNECTED,
            connected_at=None,
            last_error="",
            last_error_at=None,
            missing="",
            updated_at=timezone.now(),
        )
    changes.publish([mode.organization_id])


def _find_credential(mode: IntegrationMode) -> UUID | None:
    return Credential.objects.filter(mode=mode.pk).values_list("pk", flat=True).first()


def _check_and_keep(
    mode: IntegrationMode, asked: UUID | None, *, allows_other_account: bool = False
) -> VendorAccount:
    """Ask the vendor, and keep what it says, unless the connection was changed meanwhile.

    Raises ToolFailure.
    """
    said = _run_check(mode, _connection(mode))
    with transaction.atomic():
        if _lock_unchanged(mode, asked):
            _take_account(mode, said, None, allows_other=allows_other_account)
            _went_well(mode, said)
    return said


def _describe(said: VendorAccount) -> str:
    """What an admin reads about an account: its name, and what is missing there."""
    missing = " ".join((*said.missing, *said.wrong_settings))
    name = said.name.rstrip(".")
    return connection_status.short(f"{name}. Missing: {missing}" if missing else name)


def _connection(mode: IntegrationMode) -> VendorConnection:
    connection = registry.connection(mode.integration)
    if connection is None:
        raise LookupError(mode.integration)
    return connection


def _run_check(
    mode: IntegrationMode, connection: VendorConnection, opened: OpenedCredential | None = None
) -> VendorAccount:
    """What the vendor says to a credential, by default the one that is kept."""
    # The admin wants the result of a request now, even if the circuit breaker is open.
    client.breakers.record_success((mode.organization_id, mode.integration))
    short = replace(connection, deadline=min(connection.deadline, CHECK_SECONDS))
    with vendors.hold_slot(vendors.find_upstream(mode.organization_id, mode.integration)):
        vendor = vendors.make_vendor(short, mode.organization_id, mode.integration, opened=opened)
        try:
            said = short.check(vendor)
        except (LookupError, TypeError, ValueError, AttributeError) as surprise:
            # The author's check has met an answer of another shape.
            raise ToolFailure("The vendor returned an unexpected response.") from surprise
    return said if isinstance(said, VendorAccount) else VendorAccount(said)


def _take_account(
    mode: IntegrationMode, said: VendorAccount, before: VendorAccount | None, *, allows_other: bool
) -> None:
    """Notes the account of a connection; the caller has locked the row.

    `before` is the account before as far as the vendor tells it, None where there was none or it is
    the same. Raises ToolFailure for another account that nobody has confirmed.
    """
    rows = IntegrationMode.objects.filter(pk=mode.pk)
    stored = rows.values_list("account", flat=True).get()
    known = stored or (before.id if before else "")
    if stored and before and _is_same_account(stored, before.id):
        # What the vendor says now may be more than what was stored.
        known = max(stored, before.id, key=len)
    if not said.id or said.id == stored:
        return
    if known and _is_same_account(known, said.id):
        said = replace(said, id=max(known, said.id, key=len))
    elif known:
        if not allows_other:
            raise ToolFailure(_describe_other_account(said, before, known))
        customers.set_vendor_ids_aside(mode.organization_id, mode.integration, known, said.id)
    rows.update(account=said.id)


def _is_same_account(one: str, other: str) -> bool:
    """Whether two ids may be of one account; one may have only its beginning."""
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")


def _describe_other_account(said: VendorAccount, before: VendorAccount | None, known: str) -> str:
    named = f"{before.name} ({known})" if before and before.name else known
    return (
        f"This credential is of another account: {said.name} ({said.id}). The account before: "
        f"{named}. To change the account, enter the credential again and select “Connect another "
        "account”."
    )


def _went_well(mode: IntegrationMode, said: VendorAccount) -> None:
    """Notes that a check has passed; the caller has locked the row."""
    now, rows = timezone.now(), IntegrationMode.objects.filter(pk=mode.pk)
    rows.filter(connection=ConnectionState.NOT_CONNECTED).update(connected_at=now)
    rows.update(
        connection=ConnectionState.CONNECTED,
        last_error="",
        last_error_at=None,
        missing="\n".join((*said.missing, *said.wrong_settings)),
        updated_at=now,
    )
    changes.publish([mode.organization_id])


@transaction.atomic
def _list_missing(mode: IntegrationMode, asked: UUID | None, message: str) -> None:
    if _lock_unchanged(mode, asked):
        IntegrationMode.objects.filter(pk=mode.pk).update(missing=message)
        changes.publish([mode.organization_id])


@transaction.atomic
def _went_wrong(mode: IntegrationMode, asked: UUID | None, message: str) -> None:
    now, rows = timezone.now(), IntegrationMode.objects.filter(pk=mode.pk)
    if not _lock_unchanged(mode, asked):
        return
    rows.update(last_error=connection_status.short(message), last_error_at=now, updated_at=now)
    rows.filter(connection=ConnectionState.CONNECTED).update(connection=ConnectionState.FAILING)


def _lock_unchanged(mode: IntegrationMode, asked: UUID | None) -> bool:
    """Locks the row of a connection; returns whether it is as it was when the vendor was asked.

    `asked` is the id of the credential of that time.
    """
    # The lock first: disconnecting deletes the credential and writes the row in one transaction.
    row = IntegrationMode.objects.select_for_update().filter(pk=mode.pk).first()
    is_same = row is not None and row.settings == mode.settings
    return is_same and asked is not None and asked == _find_credential(mode)
