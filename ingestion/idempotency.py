"""Runs a request with an Idempotency-Key once, and repeats its response for a day."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from foundation import idempotency
from ingestion.errors import SdkConflict
from ingestion.models import RepeatableRequest

HEADER: Final = "Idempotency-Key"


@dataclass(frozen=True, slots=True)
class CallerKey:
    """An Idempotency-Key and who sent it: the same text of another caller is another key.

    `api` is the API that was called, `credential` what authenticated the request, and `identity`
    the customer that it is for, if it names one.
    """

    organization_id: UUID
    api: str
    credential: str
    key: str
    identity: str = ""

    @property
    def digest(self) -> str:
        """Returns what the key is stored by: no caller can write the parts of another one."""
        return idempotency.key_digest(self.api, self.credential, self.identity, self.key)


@transaction.atomic
def once(key: CallerKey, sent: Any, run: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    """Returns the response of `run`, or the stored one if the key was used for the same request.

    A concurrent request with the same key waits for the first one. Raises SdkConflict if the key
    was used for another request.
    """
    fingerprint = idempotency.fingerprint(sent)
    rows = RepeatableRequest.objects.select_for_update()
    row, is_new = rows.get_or_create(
        organization_id=key.organization_id,
        key=key.digest,
        defaults={"fingerprint": fingerprint},
    )
    if row.fingerprint != fingerprint:
        raise SdkConflict(HEADER, "This key was used for another request.")
    if is_new:
        row.response = dict(run())
        row.save(update_fields=["response"])
    stored: Mapping[str, Any] = row.response
    return stored


def find_response(key: CallerKey) -> Mapping[str, Any] | None:
    """Returns the stored response of a key, or None."""
    rows = RepeatableRequest.objects.filter(organization_id=key.organization_id, key=key.digest)
    found: Mapping[str, Any] | None = rows.values_list("response", flat=True).first()
    return found


def prune() -> int:
    """Deletes the keys that may be used again; returns how many."""
    old = RepeatableRequest.objects.filter(created_at__lt=timezone.now() - idempotency.KEPT)
    return old.delete()[0]
