"""Deletes expired rows in small batches, each a transaction of its own, safe to stop and repeat.

Two concurrent runs share the work: each batch selects the rows that are left.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias, TypeVar

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.utils import timezone

from audit import record
from oauth.consent import decisions
from oauth.grants import authorizations
from oauth.models import (
    AccessToken,
    Authorization,
    AuthorizationRequest,
    Client,
    Grant,
    McpToken,
    RefreshToken,
    RememberedConsent,
    ServerKey,
    UsedAssertion,
)

Rows: TypeAlias = Sequence[Any]
Row = TypeVar("Row", bound=Model)

BATCH: Final = 500
KEEP_ENDED_DAYS: Final = 30  # as long as the Connections page shows that it has ended
TURN: Final = 0x68616C6F  # "halo": the advisory lock under which one batch at a time is deleted


@dataclass(frozen=True, slots=True)
class Chore:
    """One kind of row: its name, which are due, what is recorded, how they are deleted."""

    name: str
    due: Callable[[datetime], QuerySet[Any]]
    record: Callable[[Rows], None]
    end: Callable[[QuerySet[Any]], object] = QuerySet.delete


def prune_unused_clients() -> int:
    """Deletes dynamic clients that nobody uses; returns how many.

    Source: the scopes document, "Auto-cleanup": those without a token after the time limit. One
    that got a token is kept as long as an authorization for it is
    (docs/decisions/0080-ended-rows-are-deleted.md).
    """
    return sum(deleted for chore in UNUSED_CLIENTS for deleted in prune(chore))


def prune_spent_credentials() -> int:
    """Deletes or empties rows after their retention; returns how many.

    Used refresh tokens are kept while their token family is valid: without them a replay would not
    be detected (RFC 9700 section 4.14.2).
    """
    return sum(deleted for chore in SPENT_CREDENTIALS for deleted in prune(chore))


def forget_replies() -> int:
    """Empties stored replies and codes that may no longer be repeated; returns how many rows.

    Runs more often than the rest, so that a later copy of the tables does not contain them.
    """
    return sum(emptied for chore in (OLD_REPLIES, OLD_CODES) for emptied in prune(chore))


def prune(chore: Chore) -> Iterator[int]:
    """Deletes what is due, batch by batch, and yields the size of each after its commit."""
    while deleted := _delete_some(chore):
        yield deleted


def due() -> Mapping[str, int]:
    """Returns how many rows of each kind are due; changes nothing.

    A consent whose code is due as well is counted once that code is deleted.
    """
    now = timezone.now()
    return {chore.name: chore.due(now).count() for chore in CHORES}


@transaction.atomic
def _delete_some(chore: Chore) -> int:
    take_turn()
    # Locked before the deletion: a client that is getting its first token at this moment is either
    # read with it, and kept, or finds its token family deleted and gets invalid_grant.
    rows = chore.due(timezone.now()).select_for_update(of=("self",), skip_locked=True)
    batch = list(rows[:BATCH])
    chore.end(QuerySet(rows.model).filter(pk__in=[row.pk for row in batch]))
    chore.record(batch)
    return len(batch)


def take_turn() -> None:
    """Waits until no other clean-up changes rows; the lock ends with the transaction.

    Two runs would change the same rows in different orders and deadlock. SQLite has one writer at a
    time anyway, and IMMEDIATE takes the lock before anything is read.
    """
    # Two runs would change the same rows in different orders and wait for each other. SQLite has
    # one writer at a time anyway, and IMMEDIATE takes the lock before anything is read.
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [TURN])


def _record_pruned_clients(clients: Rows) -> None:
    for client in clients:
        # The event keeps the id of a deleted client, for later questions.
        record.security_event(
            "client_pruned",
            address=client.registered_from,
            subject=str(client.pk),
            client_id=client.client_id,
        )


def _record_nothing(rows: Rows) -> None:
    """For rows whose deletion is not recorded."""


def _unused_clients(now: datetime) -> QuerySet[Client]:
    deciding = AuthorizationRequest.objects.filter(client=OuterRef("pk"), expires_at__gt=now)
    # A code that is being redeemed: its client is about to get its first token and must stay.
    in_flight = Grant.objects.filter(authorization__client=OuterRef("pk"), expires__gt=now)
    return Client.objects.filter(
        ~Exists(deciding),
        ~Exists(in_flight),
        Q(registration_source=Client.RegistrationSource.DCR) | _stale_document(now),
        first_token_at__isnull=True,
        created__lt=now - timedelta(days=settings.HALO_UNUSED_CLIENT_DAYS),
    )


def _forgotten_clients(now: datetime) -> QuerySet[Client]:
    """Returns clients of which every authorization has ended and was deleted, long after."""
    deciding = AuthorizationRequest.objects.filter(client=OuterRef("pk"), expires_at__gt=now)
    return _due_after_retention(
        Client.objects.filter(
            ~Exists(deciding),
            ~Exists(Authorization.objects.filter(client=OuterRef("pk"))),
            Q(registration_source=Client.RegistrationSource.DCR) | _stale_document(now),
            first_token_at__isnull=False,
        ),
        lambda moment: Q(created__lt=moment),
        now,
    )


def _due_after_retention(
    rows: QuerySet[Row], older: Callable[[datetime], Q], now: datetime
) -> QuerySet[Row]:
    """Returns those of the rows that are older than HALO_RETENTION_CREDENTIALS_DAYS."""
    days = settings.HALO_RETENTION_CREDENTIALS_DAYS
    return rows.filter(older(now - timedelta(days=days))) if days else rows.none()


def _stale_document(now: datetime) -> Q:
    # Without its row, a disabled client could register again as enabled; and a row that is still
    # fresh may be in use by an authorization request at this moment.
    return Q(
        registration_source=Client.RegistrationSource.CIMD,
        disabled_at__isnull=True,
        cimd_expires_at__lt=now,
    )


def _old_requests(now: datetime) -> QuerySet[AuthorizationRequest]:
    return AuthorizationRequest.objects.filter(expires_at__lt=now - timedelta(hours=1))


def _old_memories(now: datetime) -> QuerySet[RememberedConsent]:
    return RememberedConsent.objects.filter(expires_at__lt=now)


def _old_codes(now: datetime) -> QuerySet[Grant]:
    return Grant.objects.filter(
        expires__lt=now - timedelta(seconds=settings.HALO_CODE_KEEP_SECONDS)
    )


def _old_assertions(now: datetime) -> QuerySet[UsedAssertion]:
    return UsedAssertion.objects.filter(expires_at__lt=now)


def _old_tokens(now: datetime) -> QuerySet[AccessToken]:
    return AccessToken.objects.filter(expires__lt=now - timedelta(days=7))


def _empty_roots(now: datetime) -> QuerySet[Authorization]:
    """Returns consents whose code was never exchanged."""
    never_used = Q(refresh_tokens__isnull=True, access_tokens__isnull=True, grants__isnull=True)
    never_used &= Q(service__isnull=True)
    return Authorization.objects.filter(never_used, created_at__lt=now - timedelta(days=2))


def _revoke_expired(rows: QuerySet[Authorization]) -> None:
    for row in rows:
        authorizations.revoke(row.pk, reason="expired")


def _used_tokens_of_ended_families(now: datetime) -> QuerySet[RefreshToken]:
    # The newest token was never used; it is deleted with its authorization.
    ended = now - timedelta(days=KEEP_ENDED_DAYS)
    return RefreshToken.objects.filter(used_at__isnull=False, authorization__revoked_at__lt=ended)


def _ended_authorizations(now: datetime) -> QuerySet[Authorization]:
    """Returns authorizations whose history nobody reads any more; their tokens go with them."""
    return _due_after_retention(
        Authorization.objects.all(), lambda moment: Q(revoked_at__lt=moment), now
    )


def _has_ended_before(moment: datetime) -> Q:
    return Q(revoked_at__lt=moment) | Q(expires_at__lt=moment)


def _ended_mcp_tokens(now: datetime) -> QuerySet[McpToken]:
    def older(moment: datetime) -> Q:
        # A token of a user who has left never works again, and does not say since when.
        is_unused = Q(last_used_at=None) | Q(last_used_at__lt=moment)
        of_nobody = Q(is_unused, membership=None, created_at__lt=moment)
        return _has_ended_before(moment) | of_nobody

    return _due_after_retention(McpToken.objects.all(), older, now)


def _ended_keys(now: datetime) -> QuerySet[ServerKey]:
    return _due_after_retention(ServerKey.objects.all(), _has_ended_before, now)


def _old_replies(now: datetime) -> QuerySet[RefreshToken]:
    """Returns tokens whose stored reply is older than the replay window."""
    closed = now - timedelta(seconds=settings.HALO_REFRESH_REPLAY_SECONDS)
    return RefreshToken.objects.filter(sealed_reply__isnull=False, used_at__lt=closed)


def _forget_reply(tokens: QuerySet[RefreshToken]) -> None:
    # The row itself stays: deleted, a replay would not be recognised.
    tokens.update(sealed_reply=None)


def _old_repeats(now: datetime) -> QuerySet[AuthorizationRequest]:
    """Returns approved requests with a stored code that is no longer repeated."""
    over = now - timedelta(seconds=decisions.REPEAT_SECONDS)
    return AuthorizationRequest.objects.filter(sealed_code__isnull=False, decided_at__lt=over)


def _empty_code(requests: QuerySet[AuthorizationRequest]) -> None:
    # The row is kept: it records that the request was approved.
    requests.update(sealed_code=None)


UNUSED_CLIENTS: Final = (
    Chore("unused clients", _unused_clients, _record_pruned_clients),
    Chore(
        "clients whose authorizations ended long ago", _forgotten_clients, _record_pruned_clients
    ),
)
OLD_REPLIES: Final = Chore(
    "replies kept for the replay window", _old_replies, _record_nothing, _forget_reply
)
OLD_CODES: Final = Chore(
    "codes kept for a second submit", _old_repeats, _record_nothing, _empty_code
)
SPENT_CREDENTIALS: Final = (
    Chore("authorization requests", _old_requests, _record_nothing),
    Chore("remembered consents", _old_memories, _record_nothing),
    Chore("authorization codes", _old_codes, _record_nothing),
    Chore("used client assertions", _old_assertions, _record_nothing),
    Chore("access tokens", _old_tokens, _record_nothing),
    Chore("consents without tokens", _empty_roots, _record_nothing),
    Chore("expired authorizations", authorizations.list_expired, _record_nothing, _revoke_expired),
    Chore(
        "used refresh tokens of ended authorizations",
        _used_tokens_of_ended_families,
        _record_nothing,
    ),
    Chore("authorizations that ended long ago", _ended_authorizations, _record_nothing),
    Chore("MCP tokens that ended long ago", _ended_mcp_tokens, _record_nothing),
    Chore("keys that ended long ago", _ended_keys, _record_nothing),
    OLD_REPLIES,
    OLD_CODES,
)
CHORES: Final = (*UNUSED_CLIENTS, *SPENT_CREDENTIALS)
