"""A person's own authorizations: looked up, narrowed and ended by nobody but that person.

All rows come through here. One that does not exist and one of somebody else's look the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from oauth import authorizations, consent_page, remembered, scopes
from oauth.models import Authorization
from oauth.scopes import ScopeSet
from workspace import changes
from workspace.models import User

AT_ONCE: Final = 50  # connections on a page
ENDED_AT_MOST: Final = 20
ENDED_WITHIN: Final = timedelta(days=30)


class NoSuchConnection(Exception):
    """There is no such authorization, or it is not this person's."""


class ConnectionEnded(Exception):
    """It was this person's, and it is over."""


class NothingKept(Exception):
    """A connection without scopes could do nothing: whoever wants that ends it."""


class ScopeNotHeld(Exception):
    """Something was ticked that this connection does not have."""

    def __init__(self, authorization: Authorization) -> None:
        super().__init__(f"authorization={authorization.pk}")
        self.authorization = authorization


@dataclass(frozen=True, slots=True)
class Connection:
    """A living authorization as its person sees it; `pause` says why it does not work just now."""

    id: UUID
    client_name: str
    client_is_verified: bool
    client_origin: str
    organization_id: UUID
    organization_name: str
    scope: ScopeSet
    given_at: datetime
    silent_until: datetime | None  # until then its client need not ask; None where it asks
    pause: str


@dataclass(frozen=True, slots=True)
class Shelf:
    """One page of a person's connections, newest first; `total` counts those of all pages."""

    connections: tuple[Connection, ...]
    number: int
    pages: int
    total: int


@dataclass(frozen=True, slots=True)
class Ended:
    client_name: str
    organization_name: str
    at: datetime | None
    why: str


def living(user: User, number: str = "1") -> Shelf:
    """One page of what is not over; a number that names no page gives the nearest one."""
    page = Paginator(_living(user), AT_ONCE).get_page(number)
    paginator = page.paginator
    shown = tuple(_connection(row) for row in page)
    return Shelf(shown, page.number, paginator.num_pages, paginator.count)


def ended(user: User) -> tuple[Ended, ...]:
    """What ended within 30 days, latest first."""
    recent = _of(user).filter(revoked_at__gte=timezone.now() - ENDED_WITHIN)
    return tuple(map(_ended, recent.order_by("-revoked_at")[:ENDED_AT_MOST]))


def mine(user: User, connection_id: UUID) -> Connection:
    """One living connection. Raises NoSuchConnection, and ConnectionEnded for one that is over."""
    return _connection(_require(_of(user), connection_id))


def narrow(user: User, connection_id: UUID, ticked: Sequence[str], *, address: str) -> ScopeSet:
    """Take away every scope that is not ticked, from the next call on; returns what was taken.

    Raises what `mine` raises, NothingKept, and ScopeNotHeld, which is put on record.
    """
    try:
        return _narrowed(user, connection_id, ticked, address)
    except ScopeNotHeld as forged:
        # Out here: inside, the rollback would take the record back.
        authorizations.report("connection_forged", forged.authorization, address=address)
        raise


def revoke(user: User, connection_id: UUID, *, address: str) -> Connection:
    """End a connection and every token under it; returns what it was. Raises what `mine` raises."""
    row = _require(_of(user), connection_id)
    with transaction.atomic():
        if not _end(row, address):
            raise ConnectionEnded
    return _connection(row)


def ask_again(user: User, connection_id: UUID, *, address: str) -> Connection:
    """Have the client ask before it connects anew, whatever was remembered; raises as `mine`."""
    row = _require(_of(user), connection_id)
    with transaction.atomic():
        if remembered.drop(row):
            authorizations.report("connection_asks_again", row, address=address)
    return _connection(_require(_of(user), connection_id))


@transaction.atomic
def revoke_all(user: User, *, address: str) -> int:
    """End every living connection; returns how many there were."""
    return sum(_end(row, address) for row in _living(user))


def _of(user: User) -> QuerySet[Authorization]:
    rows = Authorization.objects.filter(user=user)
    return rows.select_related("client", "organization", "user", "remembered")


def _living(user: User) -> QuerySet[Authorization]:
    # Whoever left an organization has no membership there any more, and no way back to this row.
    return _of(user).filter(revoked_at__isnull=True, membership__isnull=False).order_by("-pk")


def _require(rows: QuerySet[Authorization], connection_id: UUID) -> Authorization:
    row = rows.filter(pk=connection_id).first()
    if row is None:
        raise NoSuchConnection
    if row.revoked_at is not None or row.membership_id is None:
        raise ConnectionEnded
    return row


@transaction.atomic
def _narrowed(user: User, connection_id: UUID, ticked: Sequence[str], address: str) -> ScopeSet:
    # Locked, so that of two pages narrowing at once neither gives back what the other took.
    row = _require(_of(user).select_for_update(of=("self",)), connection_id)
    held = scopes.parse(row.scope)
    if not {*ticked} <= {str(scope) for scope in held}:
        raise ScopeNotHeld(row)
    if not ticked:
        raise NothingKept
    taken = ScopeSet(tuple(scope for scope in held if str(scope) not in ticked))
    if taken:
        _keep(row, ScopeSet(tuple(scope for scope in held if str(scope) in ticked)))
        detail = f"took {taken}"
        authorizations.report("connection_narrowed", row, address=address, detail=detail)
    return taken


def _keep(row: Authorization, scope: ScopeSet) -> None:
    row.scope = str(scope)
    row.save(update_fields=["scope"])
    changes.publish([row.organization_id])


def _end(row: Authorization, address: str) -> bool:
    if not authorizations.revoke(row.pk, reason="revoked_by_person"):
        return False
    authorizations.report("connection_revoked", row, address=address)
    return True


def _connection(row: Authorization) -> Connection:
    return Connection(
        id=row.pk,
        client_name=row.client.name,
        client_is_verified=consent_page.is_verified(row.client),
        client_origin=consent_page.origin(row.client),
        organization_id=row.organization_id,
        organization_name=row.organization.name,
        scope=scopes.parse(row.scope),
        given_at=row.created_at,
        silent_until=remembered.until(row),
        pause=_pause(row),
    )


def _pause(row: Authorization) -> str:
    if row.client.disabled_at is not None:
        return _("Paused: an administrator has disabled this client.")
    if row.organization.suspended_at is not None:
        return _("Paused: the organization is suspended.")
    return ""


def _ended(row: Authorization) -> Ended:
    why = _why(row.revoke_reason)
    return Ended(row.client.name, row.organization.name, row.revoked_at, why)


def _why(reason: str) -> str:
    replay = _("A used credential came back, as after a theft, so it was ended for safety.")
    known = {
        "revoked_by_person": _("You disconnected it."),
        "revoked_by_client": _("The client ended it."),
        "revoked_by_admin": _("An administrator ended it."),
        "refresh_replay": replay,
        "code_replay": replay,
    }
    return known.get(reason, _("It was ended."))
