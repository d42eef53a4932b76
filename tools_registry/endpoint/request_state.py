"""The `requestState` of MCP 2026-07-28: what a call remembers between two rounds, sealed.

The client carries it, so that any process can go on. It opens only for the same authorization,
the same method, name, arguments and bound customer, and for a few minutes.
Source: MCP 2026-07-28, basic/patterns/mrtr, Server Requirements.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from foundation import ids, sealed_text
from foundation.sealing import SealBroken
from mcp_protocol.errors import INVALID_PARAMS, ProtocolError
from tools_registry.api.answers import Answers, digests
from tools_registry.models import SpentState

CONTEXT: Final = b"mcp.request_state"


@dataclass(frozen=True, slots=True)
class SealedFor:
    """What one request does on whose authority: a state that was sealed for it fits no other."""

    authorization_id: UUID
    method: str
    name: str
    arguments: Mapping[str, Any] = field(repr=False)
    # Whom the request is bound to, as its `_meta` says.
    binding: Mapping[str, Any] = field(repr=False)

    def digest(self) -> str:
        who, done = str(self.authorization_id), (self.method, self.name, self.arguments)
        written = json.dumps([who, *done, self.binding], sort_keys=True)
        return ids.sha256_hex(written)


def seal(purpose: SealedFor, answers: Answers, requests: Mapping[str, Any], state: Any) -> str:
    """The state that the client sends back with its answers."""
    kept = {key: value for key, value in answers.by_key.items() if key not in requests}
    sealed = {
        "purpose": purpose.digest(),
        "name": ids.opaque(""),
        # From the first question on: an answer does not get younger by being carried along.
        "ends": answers.ends or time.time() + settings.HALO_ASK_SECONDS,
        "asked": list(requests),
        "put": {**answers.put, **digests(requests)},
        "answered": kept,
        "state": state,
    }
    written = json.dumps(sealed).encode()
    return sealed_text.seal(written, context=CONTEXT)


def read(purpose: SealedFor, params: Mapping[str, Any]) -> Answers:
    """The answers that a request brings. Raises ProtocolError (-32602) for a state of another."""
    responses = params.get("inputResponses", {})
    if not isinstance(responses, dict):
        raise _invalid("inputResponses", "must be an object")
    if "requestState" not in params:
        return Answers(responses)
    sealed = _unseal_state(purpose, params["requestState"])
    new = {key: responses[key] for key in sealed["asked"] if key in responses}
    return Answers(
        by_key=sealed["answered"] | new,
        put=sealed["put"],
        state=sealed["state"],
        verified=True,
        ends=sealed["ends"],
        spends=sealed["name"],
    )


def spend(answers: Answers) -> None:
    """Take a state for the one time that a change may. Raises ProtocolError when it was taken."""
    if not answers.spends:
        return
    if not _is_first_to_take(ids.sha256_hex(answers.spends)):
        raise _unfit()


def _is_first_to_take(name: str) -> bool:
    expires_at = timezone.now() + timedelta(seconds=settings.HALO_ASK_SECONDS)
    # The database decides between two that come at once.
    _, is_first = SpentState.objects.get_or_create(name=name, defaults={"expires_at": expires_at})
    return is_first


def _unseal_state(purpose: SealedFor, text: object) -> dict[str, Any]:
    if not isinstance(text, str):
        raise _invalid("requestState", "must be a string")
    try:
        sealed: dict[str, Any] = json.loads(sealed_text.unseal(text, context=CONTEXT))
    except SealBroken:
        raise _unfit() from None
    if sealed["purpose"] != purpose.digest() or sealed["ends"] < time.time():
        raise _unfit()
    return sealed


def _unfit() -> ProtocolError:
    # One text for forged, foreign, used and expired states, so that it discloses nothing.
    return _invalid("requestState", "does not belong to this request, or is over; start again")


def _invalid(field_name: str, reason: str) -> ProtocolError:
    data = {"field": field_name, "reason": reason}
    return ProtocolError(INVALID_PARAMS, f"`{field_name}` {reason}.", data=data)
