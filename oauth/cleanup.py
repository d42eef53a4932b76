"""The clean-up: small batches, each its own transaction, safe to stop and to run twice.

Two runs at once share the work: their batches take turns, and each looks anew for what is left.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from audit import record
from oauth.models import (
    AccessToken,
    Authorization,
    AuthorizationRequest,
    Client,
    Grant,
    RefreshToken,
    RememberedConsent,
)

Rows: TypeAlias = Sequence[Any]

BATCH: Final = 500
TURN: Final = 0x68616C6F  # "halo": the advisory lock under which one batch at a time is deleted


@dataclass(frozen=True, slots=True)
class Chore:
    """One kind of row: its name, what is due at a moment, what is put on record, how it goes."""

    name: str
    due: Callable[[datetime], QuerySet[Any]]
    record: Callable[[Rows], None]
    end: Callable[[QuerySet[Any]], object] = QuerySet.delete


def prune_unused_clients() -> int:
    """Delete dynamically registered clients that got no token within the time; returns how many.

    Source: the scopes document, "Auto-cleanup". Clients that ever got a token stay for good.
    """
    return sum(prune(UNUSED_CLIENTS))


def prune_spent_credentials() -> int:
    """Delete or empty what has served its time; returns how many rows.

    Used refresh tokens stay with their chain: deleted, a replay would not be recognised
    (RFC 9700 section 4.14.2).
    """
    return sum(deleted for chore in SPENT_CREDENTIALS for deleted in prune(chore))


def forget_replies() -> int:
    """Empty what is kept of replies that nobody may ask for any more; returns how many rows.

    More often than the rest: a copy of the table taken later shall not hold them.
    """
    return sum(prune(OLD_REPLIES))


def prune(chore: Chore) -> Iterator[int]:
    """Delete what is due, batch by batch, and yield the size of each once it is gone for good."""
    while deleted := _delete_some(chore):
        yield deleted


def due() -> Mapping[str, int]:
    """How many rows of each kind would go now; changes nothing.

    A consent whose code is due as well is counted once that code is gone.
    """
    now = timezone.now()
    return {chore.name: chore.due(now).count() for chore in CHORES}


@transaction.atomic
def _delete_some(chore: Chore) -> int:
    _take_turn()
    # Locked before the deletion: a client that is getting its first token at this moment is
    # either read with it, and stays, or finds its chain gone and is told invalid_grant.
    rows = chore.due(timezone.now()).select_for_update(of=("self",), skip_locked=True)
    batch = list(rows[:BATCH])
    chore.end(QuerySet(rows.model).filter(pk__in=[row.pk for row in batch]))
    chore.record(batch)
    return len(batch)


def _take_turn() -> None:
    # Two runs would cascade into the same tables in different orders and wait for each other. The
    # lock ends with the batch's transaction, however that ends. SQLite has one writer at a time
    # anyway, and IMMEDIATE takes its place before the batch is read.
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [TURN])


def _pruned(clients: Rows) -> None:
    for client in clients:
        # Whoever asks later why a client is unknown finds its row under its id.
        record.security_event(
            "client_pruned",
            address=client.registered_from,
            subject=str(client.pk),
            client_id=client.client_id,
        )


def _unrecorded(rows: Rows) -> None:
    """What nobody will ask for goes without a word."""


def _unused_clients(now: datetime) -> QuerySet[Client]:
    deciding = AuthorizationRequest.objects.filter(client=OuterRef("pk"), expires_at__gt=now)
    # A code in flight: its client is about to get its first token and must not go.
    in_flight = Grant.objects.filter(authorization__client=OuterRef("pk"), expires__gt=now)
    return Client.objects.filter(
        ~Exists(deciding),
        ~Exists(in_flight),
        Q(registration_source=Client.RegistrationSource.DCR) | _stale_document(now),
        first_token_at__isnull=True,
        created__lt=now - timedelta(days=settings.HALO_UNUSED_CLIENT_DAYS),
    )


def _stale_document(now: datetime) -> Q:
    # Once its row is gone, a disabled client could come back enabled; and a row that is still
    # fresh may be standing behind an authorization request at this moment.
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


def _old_tokens(now: datetime) -> QuerySet[AccessToken]:
    return AccessToken.objects.filter(expires__lt=now - timedelta(days=7))


def _empty_roots(now: datetime) -> QuerySet[Authorization]:
    """Consents whose code was never exchanged."""
    never_used = Q(refresh_tokens__isnull=True, access_tokens__isnull=True, grants__isnull=True)
    return Authorization.objects.filter(never_used, created_at__lt=now - timedelta(days=2))


def _old_replies(now: datetime) -> QuerySet[RefreshToken]:
    """Tokens beside which a reply is kept that nobody may ask for any more."""
    shut = now - timedelta(seconds=settings.HALO_REFRESH_REPLAY_SECONDS)
    return RefreshToken.objects.filter(sealed_reply__isnull=False, used_at__lt=shut)


def _forget_reply(tokens: QuerySet[RefreshToken]) -> None:
    # The row itself stays: deleted, a replay would not be recognised.
    tokens.update(sealed_reply=None)


UNUSED_CLIENTS: Final = Chore("unused clients", _unused_clients, _pruned)
OLD_REPLIES: Final = Chore(
    "replies kept for the replay window", _old_replies, _unrecorded, _forget_reply
)
SPENT_CREDENTIALS: Final = (
    Chore("authorization requests", _old_requests, _unrecorded),
    Chore("remembered consents", _old_memories, _unrecorded),
    Chore("authorization codes", _old_codes, _unrecorded),
    Chore("access tokens", _old_tokens, _unrecorded),
    Chore("consents without tokens", _empty_roots, _unrecorded),
    OLD_REPLIES,
)
CHORES: Final = (UNUSED_CLIENTS, *SPENT_CREDENTIALS)
