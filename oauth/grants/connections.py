"""A person's own authorizations: listed by client, narrowed and revoked by that person only.

Every row is read through this module. A missing row and another person's row look the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _

from foundation.text.folding import fold
from oauth import scopes
from oauth.clients import redirects
from oauth.consent import consent_page, remembered
from oauth.grants import authorizations, grant_conditions
from oauth.models import Authorization, Client, RefreshToken
from oauth.scopes import ScopeSet
from workspace import changes
from workspace.models import Membership, User

CLIENTS_PER_PAGE: Final = 20
MAX_LISTED: Final = 1_000  # newest connections that are grouped; older ones are only counted
MAX_EARLIER: Final = 25  # earlier connections of one client that a page lists
MAX_SEARCH: Final = 200  # characters
MAX_ENDED: Final = 20
ENDED_WITHIN: Final = timedelta(days=30)


class NoSuchConnection(Exception):
    """There is no such authorization, or it is not this person's."""


class ConnectionEnded(Exception):
    """The authorization is this person's and has ended."""


class NothingKept(Exception):
    """No scope was kept; a connection without scopes has to be disconnected instead."""


class ScopeNotHeld(Exception):
    """The form names a scope that this connection does not have."""

    def __init__(self, authorization: Authorization) -> None:
        super().__init__(f"authorization={authorization.pk}")
        self.authorization = authorization


@dataclass(frozen=True, slots=True)
class UserConnection:
    """An active or paused authorization as its user sees it; `pause` says why it does not work now.

    `client_key` is equal for connections that the user takes for one client.
    """

    id: UUID
    client_key: tuple[str, ...]
    client_name: str
    client_is_verified: bool
    client_origin: str
    organization_id: UUID
    organization_name: str
    scope: ScopeSet
    given_at: datetime
    silent_until: datetime | None  # until then its client needs no consent page; None if it does
    expires_at: datetime
    is_extended_by_use: bool  # whether `expires_at` changes when its client refreshes its tokens
    pause: str


@dataclass(frozen=True, slots=True)
class ClientGroup:
    """The connections of one client, newest first; `earlier` is cut at MAX_EARLIER."""

    latest: UserConnection
    earlier: tuple[UserConnection, ...]
    total: int

    @property
    def shown_connections(self) -> tuple[UserConnection, ...]:
        return (self.latest, *self.earlier)

    @property
    def unlisted_count(self) -> int:
        return self.total - len(self.shown_connections)


@dataclass(frozen=True, slots=True)
class ConnectionList:
    """One page of a person's connections by client; `total` counts the connections of all pages."""

    groups: tuple[ClientGroup, ...]
    search: str
    number: int
    pages: int
    total: int

    @property
    def connections(self) -> tuple[UserConnection, ...]:
        return tuple(one for group in self.groups for one in group.shown_connections)


@dataclass(frozen=True, slots=True)
class EndedConnection:
    client_name: str
    organization_name: str
    at: datetime | None
    why: str


def living(user: User, *, search: str = "", number: str = "1") -> ConnectionList:
    """Returns one page of the connections that have not ended, the latest client first.

    `search` keeps the connections whose client or organization has these words in its name. An
    invalid page number gives the nearest page.
    """
    rows = list(_living(user)[:MAX_LISTED])
    total = len(rows) if len(rows) < MAX_LISTED else _living(user).count()
    words = fold(search[:MAX_SEARCH]).split()
    found = [row for row in rows if _matches(row, words)]
    page = Paginator(_group_by_client(found), CLIENTS_PER_PAGE).get_page(number)
    return ConnectionList(
        groups=tuple(page),
        search=search[:MAX_SEARCH],
        number=page.number,
        pages=page.paginator.num_pages,
        total=total,
    )


def total(user: User) -> int:
    """Returns how many connections of a user have not ended."""
    return _living(user).count()


def list_by_client(user: User, connection_id: UUID) -> tuple[UserConnection, ...]:
    """Returns every such connection of the client that has this one; raises what `mine` raises."""
    return tuple(map(_connection, _rows_of_client(user, connection_id)))


def list_ended(user: User) -> tuple[EndedConnection, ...]:
    """Returns the connections that ended within 30 days, latest first."""
    recent = _rows_of_user(user).filter(revoked_at__gte=timezone.now() - ENDED_WITHIN)
    return tuple(map(_ended_connection, recent.order_by("-revoked_at")[:MAX_ENDED]))


def mine(user: User, connection_id: UUID) -> UserConnection:
    """One living connection. Raises NoSuchConnection, and ConnectionEnded for one that is over."""
    return _connection(_require(_rows_of_user(user), connection_id))


def narrow(user: User, connection_id: UUID, ticked: Sequence[str], *, address: str) -> ScopeSet:
    """Removes every scope that is not selected, from the next call on; returns what was removed.

    Raises what `mine` raises, NothingKept, and ScopeNotHeld, which is recorded.
    """
    try:
        return _narrow_scope(user, connection_id, ticked, address)
    except ScopeNotHeld as forged:
        # Outside the block: inside, the rollback would undo the record.
        authorizations.report("connection_forged", forged.authorization, address=address)
        raise


def revoke(user: User, connection_id: UUID, *, address: str) -> UserConnection:
    """Revokes a connection and every token under it; returns it. Raises what `mine` raises."""
    row = _require(_rows_of_user(user), connection_id)
    with transaction.atomic():
        if not _end(row, address):
            raise ConnectionEnded
    return _connection(row)


def ask_again(user: User, connection_id: UUID, *, address: str) -> UserConnection:
    """Ends remembered consents, so that the next request shows the page; raises as `mine`."""
    row = _require(_rows_of_user(user), connection_id)
    with transaction.atomic():
        if remembered.drop(row):
            authorizations.report("connection_asks_again", row, address=address)
    return _connection(_require(_rows_of_user(user), connection_id))


@transaction.atomic
def revoke_client(user: User, connection_id: UUID, *, address: str) -> int:
    """Revokes every connection of one client; returns how many. Raises what `mine` raises."""
    return sum(_end(row, address) for row in _rows_of_client(user, connection_id))


@transaction.atomic
def revoke_all(user: User, *, address: str) -> int:
    """Revokes every connection; returns how many there were."""
    return sum(_end(row, address) for row in _living(user))


def _rows_of_user(user: User) -> QuerySet[Authorization]:
    rows = grant_conditions.annotate(Authorization.objects.filter(user=user))
    issued = RefreshToken.objects.filter(authorization=OuterRef("pk")).order_by("-created")
    return rows.select_related("client", "organization", "user", "remembered").annotate(
        refreshed_at=Subquery(issued.values("created")[:1])
    )


def _living(user: User) -> QuerySet[Authorization]:
    rows = _rows_of_user(user).filter(grant_conditions.not_ended()).order_by("-pk")
    return rows.exclude(pk__in=authorizations.list_expired(timezone.now()))


def _rows_of_client(user: User, connection_id: UUID) -> list[Authorization]:
    key = mine(user, connection_id).client_key
    return [row for row in _living(user) if _client_key(row.client) == key]


def _matches(row: Authorization, words: Sequence[str]) -> bool:
    text = fold(f"{row.client.name} {row.organization.name}")
    return all(word in text for word in words)


def _group_by_client(rows: Sequence[Authorization]) -> list[ClientGroup]:
    by_client: dict[tuple[str, ...], list[Authorization]] = {}
    for row in rows:
        by_client.setdefault(_client_key(row.client), []).append(row)
    return [_group(of_one) for of_one in by_client.values()]


def _group(rows: Sequence[Authorization]) -> ClientGroup:
    latest, *earlier = (_connection(row) for row in rows[: 1 + MAX_EARLIER])
    return ClientGroup(latest, tuple(earlier), len(rows))


def _client_key(client: Client) -> tuple[str, ...]:
    """Returns the key under which connections count as one client.

    A client that registers for each sign-in has a row for each. Rows count as one client if they
    have the same name, source and redirect hosts.
    """
    if client.registration_source != Client.RegistrationSource.DCR:
        return (client.client_id,)
    hosts = {redirects.describe(uri).display_host for uri in client.redirect_uris}
    return (client.registration_source, client.name, *sorted(hosts))


def _require(rows: QuerySet[Authorization], connection_id: UUID) -> Authorization:
    row = rows.filter(pk=connection_id).first()
    if row is None:
        raise NoSuchConnection
    if grant_conditions.has_ended(row) or _expires_at(row) <= timezone.now():
        raise ConnectionEnded
    return row


@transaction.atomic
def _narrow_scope(user: User, connection_id: UUID, ticked: Sequence[str], address: str) -> ScopeSet:
    # Locked, so that of two concurrent changes neither restores what the other removed.
    row = _require(_rows_of_user(user).select_for_update(of=("self",)), connection_id)
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


def _connection(row: Authorization) -> UserConnection:
    return UserConnection(
        id=row.pk,
        client_key=_client_key(row.client),
        client_name=row.client.name,
        client_is_verified=consent_page.is_verified(row.client),
        client_origin=consent_page.origin(row.client),
        organization_id=row.organization_id,
        organization_name=row.organization.name,
        scope=scopes.parse(row.scope),
        given_at=row.created_at,
        silent_until=remembered.find_expiry(row),
        expires_at=_expires_at(row),
        is_extended_by_use=_expires_at(row) < authorizations.lasts_until(row),
        pause=_pause(row),
    )


def _expires_at(row: Authorization) -> datetime:
    refreshed_at: datetime | None = getattr(row, "refreshed_at", None)
    end = authorizations.lasts_until(row)
    return end if refreshed_at is None else min(end, authorizations.idle_until(refreshed_at))


def _pause(row: Authorization) -> str:
    for condition in grant_conditions.failing(row):
        return _("Paused: %(reason)s.") % {"reason": condition.explain(row)}
    return ""


def _ended_connection(row: Authorization) -> EndedConnection:
    why = _why(row.revoke_reason)
    return EndedConnection(row.client.name, row.organization.name, row.revoked_at, why)


def _why(reason: str) -> str:
    replay = _("Disconnected for security: a used token was presented again.")
    known = {
        "revoked_by_person": _("You disconnected it."),
        "revoked_by_client": _("The client disconnected."),
        "revoked_by_admin": _("An administrator disconnected it."),
        "expired": _("It expired."),
        "refresh_replay": replay,
        "code_replay": replay,
        "scopes_removed": _("The integrations that it could use no longer exist."),
    }
    return known.get(reason, _("Disconnected."))


def count_of_member(membership: Membership) -> int:
    """Returns how many connections of a membership are active or paused."""
    rows = Authorization.objects.filter(grant_conditions.not_ended(), membership=membership)
    return rows.count()
