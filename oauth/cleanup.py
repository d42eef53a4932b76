"""The nightly clean-up: small batches, each its own transaction, safe to stop and to run twice."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.utils import timezone

from audit import record
from oauth.models import AccessToken, Authorization, AuthorizationRequest, Client, Grant

Row = TypeVar("Row", bound=Model)

BATCH: Final = 500


def prune_unused_clients() -> int:
    """Delete dynamically registered clients that got no token within the time; returns how many.

    Source: the scopes document, "Auto-cleanup". Clients that ever got a token stay for good.
    """
    pruned = 0
    for batch in _in_batches(_unused_clients):
        pruned += len(batch)
        for client in batch:
            # Whoever asks later why a client is unknown finds its row under its id.
            record.security_event(
                "client_pruned",
                address=client.registered_from,
                subject=str(client.pk),
                client_id=client.client_id,
            )
    return pruned


def prune_spent_credentials() -> int:
    """Delete what has served its time; returns how many rows.

    Used refresh tokens stay with their chain: deleted, a replay would not be recognised
    (RFC 9700 section 4.14.2).
    """
    finders: tuple[Callable[[datetime], QuerySet[Any]], ...] = (
        _old_requests,
        _old_codes,
        _old_tokens,
        _empty_roots,
    )
    return sum(len(batch) for find in finders for batch in _in_batches(find))


def _in_batches(find: Callable[[datetime], QuerySet[Row]]) -> Iterator[list[Row]]:
    """Delete what `find` selects, some rows at a time, and yield what each batch deleted."""
    while batch := _delete_some(find(timezone.now())):
        yield batch


@transaction.atomic
def _delete_some(rows: QuerySet[Row]) -> list[Row]:
    # Locked before the deletion: a client that is getting its first token at this moment is
    # either read with it, and stays, or finds its chain gone and is told invalid_grant.
    batch = list(rows.select_for_update(of=("self",), skip_locked=True)[:BATCH])
    QuerySet(rows.model).filter(pk__in=[row.pk for row in batch]).delete()
    return batch


def _unused_clients(now: datetime) -> QuerySet[Client]:
    deciding = AuthorizationRequest.objects.filter(client=OuterRef("pk"), expires_at__gt=now)
    # A code in flight: its client is about to get its first token and must not go.
    in_flight = Grant.objects.filter(authorization__client=OuterRef("pk"), expires__gt=now)
    return Client.objects.filter(
        ~Exists(deciding),
        ~Exists(in_flight),
        registration_source=Client.RegistrationSource.DCR,
        first_token_at__isnull=True,
        created__lt=now - timedelta(days=settings.HALO_UNUSED_CLIENT_DAYS),
    )


def _old_requests(now: datetime) -> QuerySet[AuthorizationRequest]:
    return AuthorizationRequest.objects.filter(expires_at__lt=now - timedelta(hours=1))


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
