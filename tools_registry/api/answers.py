"""What a client answered to the questions of a call; no Django: authors' code imports it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from foundation import ids
from foundation.db.storable import has_unstorable_text
from mcp_protocol import input_requests
from mcp_protocol.input_requests import ELICIT, InputRequest
from tools_registry.api.schemas import ValueTooLarge, form_validator_of


@dataclass(frozen=True, slots=True)
class Answers:
    """The client's answers of all rounds so far, by key.

    `verified` is true if this server asked these questions, as a sealed state or the stream of the
    call shows. `put` has a digest of each question, `state` the tool's state of the last round,
    `ends` the expiry of the first question (Unix time), `spends` the id of the sealed state for
    calls that may use each one once.
    """

    by_key: Mapping[str, Any] = field(default_factory=dict)
    put: Mapping[str, str] = field(default_factory=dict)
    state: Any = None
    verified: bool = False
    ends: float | None = None
    spends: str = ""

    def find_answer(self, key: str, request: InputRequest) -> Any:
        """Return the answer to exactly this question, or None; other questions do not count."""
        same = not self.verified or self.put.get(key) == digest(request)
        return self.by_key.get(key) if same else None

    def is_unfit(self, key: str, request: InputRequest) -> bool:
        """Return whether the client answered exactly this question with what does not fit it."""
        is_answered = self.verified and key in self.by_key
        return (
            is_answered
            and self.put.get(key) == digest(request)
            and parse_answer(request, self.by_key[key]) is None
        )


NONE_YET: Final = Answers()


def digest(request: InputRequest) -> str:
    """Return a digest of a question, which changes with its text."""
    return ids.sha256_hex(json.dumps(request, sort_keys=True))


def digests(requests: Mapping[str, InputRequest]) -> dict[str, str]:
    """The digest of each question, by its key."""
    return {key: digest(request) for key, request in requests.items()}


def parse_answer(request: InputRequest, value: object) -> Any:
    """A client's value as the author gets it, or None where it does not answer the request.

    What the person accepted fits the form; what the form did not ask for is left out.
    """
    if not input_requests.is_result(request, value) or has_unstorable_text(value):
        return None
    return (
        value
        if request["method"] != ELICIT
        else _parse_elicitation(request.get("params", {}), value)
    )


def _parse_elicitation(params: Mapping[str, Any], value: Any) -> Any:
    if value["action"] != "accept" or "requestedSchema" not in params:
        return {"action": value["action"]}
    schema, content = params["requestedSchema"], value.get("content", {})
    if not isinstance(content, dict):
        return None
    asked = {key: content[key] for key in schema["properties"] if key in content}
    try:
        fits = form_validator_of(schema).is_valid(asked)
    except ValueTooLarge:
        return None
    return {"action": "accept", "content": asked} if fits else None
