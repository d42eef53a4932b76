"""Responses in one piece: JSON, and errors as `{"error": "<sentence>"}`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from foundation.json_text import dumps
from rest.errors import ApiError


@dataclass(frozen=True, slots=True)
class AgentReply:
    """A response in one piece; a `value` of None has no body.

    `deleted_session` is the session that the request has deleted, whose turn may run.
    """

    status: int
    value: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    deleted_session: str = ""

    @property
    def body(self) -> bytes:
        return b"" if self.value is None else dumps(self.value)


def error_reply(problem: ApiError) -> AgentReply:
    """Returns the response to a refused request."""
    return AgentReply(problem.status, {"error": problem.message}, problem.headers)
