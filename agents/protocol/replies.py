"""Responses in one piece: JSON, and errors as `{"error": "<sentence>"}`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from foundation.json_text import dumps

NOTHING: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class AgentReply:
    """A response in one piece; a `value` of None has no body."""

    status: int
    value: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        return b"" if self.value is None else dumps(self.value)


class AgentApiError(Exception):
    """A request is refused; `message` is a sentence for the client's developer."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] = NOTHING) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers

    @property
    def reply(self) -> AgentReply:
        return AgentReply(self.status, {"error": self.message}, self.headers)
