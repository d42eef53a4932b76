"""Runs a request with an Idempotency-Key once, and repeats its response for a day."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from foundation import idempotency
from rest.errors import ApiError, FieldIssue, field_error
from rest.models import RepeatableRequest

HEADER: Final = "Idempotency-Key"


class IdempotencyConflict(ApiError):
    """The key was sent with another request before."""

    def __init__(self) -> None:
        message = "This key was used for another request."
        super().__init__(409, message, [FieldIssue(HEADER, message)])


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


def check_key(key: str, form: re.Pattern[str], rule: str) -> None:
    """Raises ApiError with the sentence `rule` for a key that has not this form."""
    if not form.fullmatch(key):
        raise field_error(400, HEADER, rule)


@transaction.atomic
def run_once(key: CallerKey, sent: Any, run: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    """Returns the response of `run`, or the stored one if the key was used for the same request.

    A concurrent request with the same key waits for the first one. Raises IdempotencyConflict.
    """
    fingerprint = idempotency.fingerprint(sent)
    rows = RepeatableRequest.objects.select_for_update()
    row, is_new = rows.get_or_create(
        organization_id=key.organization_id,
        key=key.digest,
        defaults={"fingerprint": fingerprint},
    )
    if row.fingerprint != fingerprint:
        raise IdempotencyConflict
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
