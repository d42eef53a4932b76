"""Runs a request with an Idempotency-Key once, and repeats its response for a day."""

import json
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from foundation import ids
from ingestion.errors import Conflict
from ingestion.models import RepeatableRequest
from workspace.identification.field_values import InvalidField

HEADER: Final = "Idempotency-Key"
# Visible ASCII characters.
KEY: Final = re.compile(r"[!-~]{1,200}")
KEEP: Final = timedelta(days=1)


@transaction.atomic
def once(
    organization_id: UUID, key: str, sent: Any, run: Callable[[], Mapping[str, Any]]
) -> Mapping[str, Any]:
    """Returns the response of `run`, or the stored one if the key was used for the same request.

    A concurrent request with the same key waits for the first one. Raises Conflict if the key was
    used for another request, and InvalidField for a malformed key. An empty key is no key.
    """
    if not key:
        return run()
    if not KEY.fullmatch(key):
        raise InvalidField(HEADER, "Send 1 to 200 visible ASCII characters.")
    fingerprint = ids.sha256_hex(json.dumps(sent, sort_keys=True, default=str))
    rows = RepeatableRequest.objects.select_for_update()
    row, is_new = rows.get_or_create(
        organization_id=organization_id, key=key, defaults={"fingerprint": fingerprint}
    )
    if row.fingerprint != fingerprint:
        raise Conflict(HEADER, "This key was used for another request.")
    if is_new:
        row.response = dict(run())
        row.save(update_fields=["response"])
    stored: Mapping[str, Any] = row.response
    return stored


def stored(organization_id: UUID, key: str) -> Mapping[str, Any] | None:
    """Returns the stored response of a key, or None."""
    rows = RepeatableRequest.objects.filter(organization_id=organization_id, key=key)
    found: Mapping[str, Any] | None = rows.values_list("response", flat=True).first()
    return found


def prune() -> int:
    """Deletes the keys that may be used again; returns how many."""
    old = RepeatableRequest.objects.filter(created_at__lt=timezone.now() - KEEP)
    return old.delete()[0]
