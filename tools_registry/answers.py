"""What a client answered to the questions of a call; no Django: authors' code stands on it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from foundation.storable import has_unstorable_text
from mcp_protocol import input_requests
from mcp_protocol.input_requests import ELICIT, InputRequest
from tools_registry.schemas import form_validator_of


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of all rounds so far, by key, as the client gave them.

    `vouched` says that this server put these questions: a seal shows it, or the stream that the
    call stands on. `put` has a digest of each question as it was put, `state` what went out with
    the last of them, `ends` when the first of them is too old (Unix time), and `spends` the name of
    the seal, for calls that may take each one once.
    """

    by_key: Mapping[str, Any] = field(default_factory=dict)
    put: Mapping[str, str] = field(default_factory=dict)
    state: Any = None
    vouched: bool = False
    ends: float | None = None
    spends: str = ""

    def given(self, key: str, request: InputRequest) -> Any:
        """What the client answered to this very question: a yes to another one is no yes to it."""
        same = not self.vouched or self.put.get(key) == digest(request)
        return self.by_key.get(key) if same else None


NONE_YET: Final = Answers()


def digest(request: InputRequest) -> str:
    """What tells a question from one that was worded otherwise."""
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()


def digests(requests: Mapping[str, InputRequest]) -> dict[str, str]:
    """The digest of each question, by its key."""
    return {key: digest(request) for key, request in requests.items()}


def accepted(request: InputRequest, value: object) -> Any:
    """A client's value as the author gets it, or None where it does not answer the request.

    What the person accepted fits the form; what the form did not ask for is left out.
    """
    if not input_requests.is_result(request, value) or has_unstorable_text(value):
        return None
    return value if request["method"] != ELICIT else _elicited(request.get("params", {}), value)


def _elicited(params: Mapping[str, Any], value: Any) -> Any:
    if value["action"] != "accept" or "requestedSchema" not in params:
        return {"action": value["action"]}
    schema, content = params["requestedSchema"], value.get("content", {})
    if not isinstance(content, dict):
        return None
    asked = {key: content[key] for key in schema["properties"] if key in content}
    fits = form_validator_of(schema).is_valid(asked)
    return {"action": "accept", "content": asked} if fits else None
