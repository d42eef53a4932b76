"""The three ways to use what is offered, each a row: call a tool, read a resource, get a prompt.

The pipeline (`call.py`) is the same for all; what differs stands here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeAlias
from uuid import UUID

from django.conf import settings

from foundation.storable import has_unstorable_text
from mcp_protocol import failures, prompt_shapes, resource_shapes, shapes
from mcp_protocol.errors import ProtocolError
from mcp_protocol.resource_shapes import Contents
from mcp_protocol.revisions import Revision
from mcp_protocol.strict_json import JsonObject, dumps, indented
from tools_registry import arguments, registry
from tools_registry.types import (
    Arguments,
    Blocks,
    Body,
    Guarded,
    Invalid,
    Message,
    Prompt,
    Resource,
    Result,
    Tool,
    ToolContext,
    ToolFailure,
)

Reply: TypeAlias = JsonObject | ProtocolError


class ResultTooLarge(ToolFailure):
    """The answer is larger than HALO_MAX_RESULT_BYTES."""

    kind = "result_too_large"

    def __init__(self) -> None:
        super().__init__("The result is too large. Ask for less.", reason=self.kind)


class Subject(Guarded, Protocol):
    """What an operation is done to."""

    @property
    def name(self) -> str: ...
    @property
    def mutates(self) -> bool: ...
    @property
    def streams(self) -> bool: ...
    @property
    def instant(self) -> bool: ...
    @property
    def run(self) -> Callable[[ToolContext, Mapping[str, Any]], Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method that runs something, as the pipeline needs it.

    `name` is what the audit row calls the subject, `absence` its reason where there is none;
    `shape` raises ToolFailure for what does not
    fit; `fail` words a failure, given the name that was asked for.
    """

    method: str
    absence: str
    find: Callable[[str, UUID], Subject | None]
    name: Callable[[Any], str]
    unknown: Callable[[str, Revision], ProtocolError]
    validate: Callable[[Any, Arguments], None]
    shape: Callable[[Any, Any, Revision], JsonObject]
    fail: Callable[[str, ToolFailure, Revision], Reply]


def _named(subject: Subject) -> str:
    return subject.name


def _shape_call(tool: Tool, result: Result, revision: Revision) -> JsonObject:
    if isinstance(result, Blocks):
        # Written here once, so that blocks no JSON can hold fail in the tool and not behind it.
        return _fitting(shapes.call_result(result.content, revision, structured=result.structured))
    text = indented(result.value)
    _require_fitting(text.encode())
    structured = result.value if tool.output_schema is not None else None
    return shapes.call_result([shapes.text_block(text)], revision, structured=structured)


def _fail_call(_name: str, failure: ToolFailure, revision: Revision) -> Reply:
    field, reason = failure.field or None, failure.reason or None
    return failures.failed_call(failure.kind, failure.message, field, reason, revision)


def _uri(resource: Resource) -> str:
    return resource.uri


def _validate_nothing(_resource: Resource, _arguments: Arguments) -> None:
    """A URI is all that a read is given, and it has found its resource already."""


def _shape_read(resource: Resource, body: Body, revision: Revision) -> JsonObject:
    mime_type = body.mime_type or resource.mime_type
    contents = Contents(resource.uri, mime_type, body.content, resource.meta)
    return _fitting(resource_shapes.read_result(contents, revision))


def _fail_read(uri: str, failure: ToolFailure, revision: Revision) -> Reply:
    if failure.kind == "not_found":
        return failures.unknown_resource(uri, revision)
    return _fail_request(uri, failure, revision)


def _validate_prompt(prompt: Prompt, given: Arguments) -> None:
    known = {argument.name for argument in prompt.arguments}
    for name, value in given.items():
        if name not in known:
            raise Invalid("The prompt has no such argument.", field=name[:300], reason="is unknown")
        if not isinstance(value, str) or has_unstorable_text(value):
            raise Invalid("Arguments of prompts are text.", field=name, reason="must be text")
    for argument in prompt.arguments:
        if argument.required and argument.name not in given:
            raise Invalid("An argument is missing.", field=argument.name, reason="is required")


def _shape_prompt(prompt: Prompt, said: list[Message], revision: Revision) -> JsonObject:
    return _fitting(prompt_shapes.prompt_result(prompt.description, said, revision))


def _unknown_prompt(name: str, _revision: Revision) -> ProtocolError:
    return failures.unknown_prompt(name)


def _fail_request(_name: str, failure: ToolFailure, revision: Revision) -> Reply:
    field, reason = failure.field or None, failure.reason or None
    return failures.failed_request(failure.kind, failure.message, field, reason, revision)


def _fitting(shaped: JsonObject) -> JsonObject:
    _require_fitting(dumps(shaped))
    return shaped


def _require_fitting(written: bytes) -> None:
    if len(written) > settings.HALO_MAX_RESULT_BYTES:
        raise ResultTooLarge


CALL: Final = Operation(
    method="tools/call",
    absence="tool_not_found",
    find=registry.find,
    name=_named,
    unknown=failures.unknown_tool,
    validate=arguments.validate,
    shape=_shape_call,
    fail=_fail_call,
)
READ: Final = Operation(
    method="resources/read",
    absence="resource_not_found",
    find=registry.find_resource,
    name=_uri,
    unknown=failures.unknown_resource,
    validate=_validate_nothing,
    shape=_shape_read,
    fail=_fail_read,
)
# Neither runs anything: they are prepared as a read is, and answered.
SUBSCRIBE: Final = replace(READ, method="resources/subscribe")
UNSUBSCRIBE: Final = replace(READ, method="resources/unsubscribe")
GET_PROMPT: Final = Operation(
    method="prompts/get",
    absence="prompt_not_found",
    find=registry.find_prompt,
    name=_named,
    unknown=_unknown_prompt,
    validate=_validate_prompt,
    shape=_shape_prompt,
    fail=_fail_request,
)
