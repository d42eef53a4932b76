"""Messages for the open WebSockets of a credential, in whichever process those are.

A message is stored for a minute, sealed, and a notification on its topic has every process look. A
socket that opens within the minute gets it too, so that a client that reconnects misses nothing.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.utils import timezone

from foundation import ids, json_text, pubsub, sealing
from tools_registry.models import PushedMessage

LIFETIME: Final = timedelta(minutes=1)
# Of one authorization, the newest.
MAX_PENDING: Final = 100


def topic(authorization_id: UUID | str) -> str:
    """What is published when there is a message for an authorization."""
    return f"push:{authorization_id}"


def push(authorization_id: UUID | str, message: Mapping[str, Any]) -> None:
    """Send a JSON-RPC notification to all open sockets of an authorization, after the commit.

    `authorization_id` is that of `Principal`. Nothing happens if no socket opens within a minute.
    """
    identifier, now = ids.uuid7(), timezone.now()
    PushedMessage.objects.filter(expires_at__lt=now).delete()
    PushedMessage.objects.create(
        id=identifier,
        authorization_id=str(authorization_id),
        sealed=sealing.seal(json_text.dumps(message), context=_context(identifier)),
        expires_at=now + LIFETIME,
    )
    pubsub.publish(topic(authorization_id))


def pending(authorization_ids: Iterable[UUID]) -> dict[str, dict[UUID, bytes]]:
    """The messages of each authorization that has any, by id, oldest first."""
    named = [str(one) for one in authorization_ids]
    rows = PushedMessage.objects.filter(
        authorization_id__in=named, expires_at__gt=timezone.now()
    ).order_by("id")
    found: dict[str, dict[UUID, bytes]] = {}
    for row in rows:
        text = sealing.unseal(bytes(row.sealed), context=_context(row.pk))
        found.setdefault(row.authorization_id, {})[row.pk] = text
    return {one: dict([*texts.items()][-MAX_PENDING:]) for one, texts in found.items()}


def _context(identifier: UUID) -> bytes:
    return b"tools_registry.pushed_message:" + identifier.bytes
