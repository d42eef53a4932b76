"""What the functions of an author give back, and what they raise; no Django.

Authors import these from `tools_registry.api`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Json: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Facts:
    """A JSON value: one text block with 2-space indent, `structuredContent` where it may be.

    `row_count` counts the workspace's rows in it, for budgets and the audit row. `meta` is `_meta`.
    With `is_compact` the text has no white space: lists of rows are half as long for a model.
    """

    value: Json
    row_count: int | None = None
    meta: Mapping[str, Json] = field(default_factory=dict)
    is_compact: bool = False


@dataclass(frozen=True, slots=True)
class Blocks:
    """Content blocks as the protocol shapes them, passed on as they are; `meta` is `_meta`."""

    content: Sequence[Mapping[str, Json]]
    structured: Mapping[str, Json] | None = None
    meta: Mapping[str, Json] = field(default_factory=dict)


Result: TypeAlias = Facts | Blocks


@dataclass(frozen=True, slots=True)
class ResourceBody:
    """What a resource holds: text, or bytes that are sent as base64.

    `mime_type` replaces the declared one.
    """

    content: str | bytes
    mime_type: str = ""


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a prompt: a content block as the protocol shapes it, and who says it."""

    content: Mapping[str, Json]
    role: str = "user"


def text_message(text: str, role: str = "user") -> PromptMessage:
    """A message of plain text."""
    return PromptMessage({"type": "text", "text": text}, role)


class ToolFailure(Exception):
    """A tool could not do it. The message is for the caller and must not contain secrets.

    `upstream_status` is the HTTP status of the vendor's answer, if there was one, and `log_id` what
    the vendor finds the request by in its log.
    """

    kind = "internal"
    upstream_status: int | None = None
    log_id: str = ""

    def __init__(self, message: str, *, field: str = "", reason: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.reason = reason


class NotFound(ToolFailure):
    """The arguments name something that does not exist or belongs to another organization."""

    kind = "not_found"


class ValidationFailure(ToolFailure):
    """An argument fits its schema and is still invalid; `field` names it, `reason` says why."""

    kind = "validation"


class UpstreamFailure(ToolFailure):
    """The vendor failed or refused the request."""

    def __init__(self, message: str, *, upstream_status: int | None = None) -> None:
        super().__init__(message)
        self.upstream_status = upstream_status


class Unauthorized(UpstreamFailure):
    """The vendor refused the organization's credential."""

    kind = "unauthorized"


class PermissionRefused(Unauthorized):
    """The vendor takes the organization's credential, which lacks a permission for this request."""


class IntegrationFailure(UpstreamFailure):
    """The vendor failed."""

    kind = "integration"


class NotDone(IntegrationFailure):
    """The other server has done nothing: it was not asked to, or says that it refused."""


class NotSent(NotDone):
    """The request could not be sent to the other server."""


class UpstreamOutcomeUnknown(IntegrationFailure):
    """A request that changes something was sent, and nothing says whether it was carried out."""


def unknown_outcome(who: str, look_for: str = "") -> str:
    """Returns the sentence for a change whose outcome nobody knows, with what to look for."""
    check = f"Look for {look_for}" if look_for else "Check"
    return (
        f"The outcome is unknown: {who} may have carried out the request. "
        f"{check} before you try again."
    )


class Declined(ToolFailure):
    """The person declined, or closed the question."""

    kind = "declined"

    def __init__(self, message: str = "The person declined to answer.") -> None:
        super().__init__(message, reason=self.kind)
