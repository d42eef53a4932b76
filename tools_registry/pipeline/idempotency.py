"""Calls with an idempotency key: carried out once, and answered with their first outcome for a day.

A key belongs to its caller, surface and tool. Its row is committed before the call runs. If the
process is killed then, the outcome is unknown: a call is never run again for its key.
"""

import base64
import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from foundation import idempotency, journal, sealing
from foundation.resealing import SealedColumn
from foundation.sealing import SealBroken
from mcp_protocol.meta_keys import META
from tools_registry.api import Blocks, Facts, Result, ToolFailure, ValidationFailure
from tools_registry.models import RepeatableCall
from tools_registry.pipeline.invocation import (
    CallInProgress,
    CallOutcomeUnknown,
    Failed,
    FinalOutcome,
    Outcome,
    PreparedCall,
    Succeeded,
)

# The kind of an entry in the journal.
FIRST_OUTCOME: Final = "tools_registry.first_outcome"
NOTE: Final = "repeated: first outcome of its idempotency key"
# In bytes of JSON. Of a larger result is kept that there was one.
MAX_KEPT: Final = 65_536
NOT_KEPT: Final = (
    "This call was carried out before, with the same idempotency key. Its result was too large to "
    "be kept."
)


class KeyReused(ValidationFailure):
    """The key was used for another call of the tool."""

    def __init__(self) -> None:
        super().__init__(
            "This idempotency key was used for a call with other arguments.",
            field="idempotency_key",
            reason="was used with other arguments",
        )


class FirstFailure(ToolFailure):
    """The failure of the first call with a key."""

    def __init__(self, kept: Mapping[str, Any]) -> None:
        super().__init__(kept["message"], field=kept["field"], reason=kept["reason"])
        self.kind = kept["kind"]
        self.upstream_status = kept["upstream_status"]


def find_first_outcome(call: PreparedCall) -> FinalOutcome | None:
    """Returns the first outcome of the call's key, None if the key is new.

    Raises KeyReused, and CallInProgress while the first call runs.
    """
    row = _rows(call).first()
    return None if row is None else _read_outcome(row, call)


def begin(call: PreparedCall) -> PreparedCall | FinalOutcome:
    """Stores the key of a call that is about to run; returns the first outcome if it is not new.

    In a transaction with the row that says that the call has begun. Raises KeyReused and
    CallInProgress.
    """
    row, is_new = RepeatableCall.objects.get_or_create(
        organization_id=call.principal.organization_id,
        key=_digest(call),
        defaults={"fingerprint": _fingerprint(call)},
    )
    return call if is_new else _read_outcome(row, call)


def store(call: PreparedCall, outcome: Outcome, *, has_run: bool) -> None:
    """Stores the outcome of a call that has begun, through the journal. Raises NotStored.

    The key is new again if the call failed before its tool was run.
    """
    is_failure_of_check = isinstance(outcome, Failed) and not has_run
    kept = None if is_failure_of_check else _as_json(outcome)
    key = _digest(call)
    sealed = None
    if kept is not None:
        sealed = sealing.seal(json.dumps(kept).encode(), context=_context(key))
    entry = {
        "organization": str(call.principal.organization_id),
        "key": key,
        "fingerprint": _fingerprint(call),
        "outcome": None if sealed is None else base64.b64encode(sealed).decode(),
    }
    journal.store(FIRST_OUTCOME, entry)


def write_outcome(entry: journal.Entry) -> None:
    """Writes the outcome of a key (`foundation.journal.Write`)."""
    rows = RepeatableCall.objects.filter(organization=UUID(entry["organization"]), key=entry["key"])
    if entry["outcome"] is None:
        rows.delete()
    else:
        RepeatableCall.objects.update_or_create(
            organization_id=UUID(entry["organization"]),
            key=entry["key"],
            defaults={
                "fingerprint": entry["fingerprint"],
                "sealed_outcome": base64.b64decode(entry["outcome"]),
            },
        )


def prune() -> int:
    """Deletes the keys that may be used again; returns how many."""
    old = RepeatableCall.objects.filter(created_at__lt=timezone.now() - idempotency.KEPT)
    return old.delete()[0]


def _rows(call: PreparedCall) -> QuerySet[RepeatableCall]:
    return RepeatableCall.objects.filter(
        organization=call.principal.organization_id, key=_digest(call)
    )


def _digest(call: PreparedCall) -> str:
    surface, party = call.invocation.surface.name, call.principal.party
    return idempotency.key_digest(
        surface, party, call.subject.name, call.invocation.idempotency_key
    )


def _fingerprint(call: PreparedCall) -> str:
    return idempotency.fingerprint([call.invocation.arguments, call.invocation.binding])


def _read_outcome(row: RepeatableCall, call: PreparedCall) -> FinalOutcome:
    if row.fingerprint != _fingerprint(call):
        raise KeyReused
    if row.sealed_outcome is None:
        running_for = timedelta(seconds=settings.HALO_AUDIT_INTERRUPTED_SECONDS)
        if row.created_at > timezone.now() - running_for:
            raise CallInProgress
        return Failed(CallOutcomeUnknown(), note=NOTE)
    try:
        opened = sealing.unseal(bytes(row.sealed_outcome), context=_context(row.key))
    except SealBroken:
        return Failed(CallOutcomeUnknown(), note=NOTE)
    kept = json.loads(opened)
    if "failure" in kept:
        return Failed(FirstFailure(kept["failure"]), note=NOTE)
    result = _to_result(kept)
    text = call.invocation.kind.text(result)
    return Succeeded(result, text, call.subject, is_repeated=True, note=NOTE)


def _as_json(outcome: Outcome) -> dict[str, Any] | None:
    """What is kept of an outcome, None if the call was not carried out."""
    if isinstance(outcome, Succeeded):
        kept = _result_as_json(outcome.result)
        is_kept = len(json.dumps(kept).encode()) <= MAX_KEPT
        return kept if is_kept else {"content": [{"type": "text", "text": NOT_KEPT}]}
    if isinstance(outcome, Failed):
        names = ("kind", "message", "field", "reason", "upstream_status")
        return {"failure": {name: getattr(outcome.failure, name) for name in names}}
    return None


def _result_as_json(result: Result) -> dict[str, Any]:
    meta = {META: result.meta} if result.meta else {}
    if isinstance(result, Blocks):
        return {"content": [*result.content], "structured": result.structured, **meta}
    return {"value": result.value, **meta}


def _to_result(kept: Mapping[str, Any]) -> Result:
    meta = kept.get(META, {})
    if "content" in kept:
        return Blocks(kept["content"], kept.get("structured"), meta)
    return Facts(kept["value"], meta=meta)


def _context(key: str) -> bytes:
    return f"tools_registry.repeatable_call:{key}".encode()


def _reseal(row: RepeatableCall, sealed: bytes) -> None:
    RepeatableCall.objects.filter(pk=row.pk).update(sealed_outcome=sealed)


SEALED: Final = SealedColumn(
    name="first outcomes of calls with an idempotency key",
    rows=lambda: RepeatableCall.objects.exclude(sealed_outcome=None),
    read=lambda row: bytes(row.sealed_outcome),
    write=_reseal,
    context=lambda row: _context(row.key),
)
