"""What can be done with what tools offer: call a tool, read a resource, get a prompt.

The pipeline (`calls.py`) runs every kind in the same way; each row here holds what differs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import islice
from operator import attrgetter
from typing import Any, Final, Protocol
from uuid import UUID

from django.conf import settings
from jsonschema_rs import ValidationErrorKind as ErrorKind

from foundation.calendar_days import missing_day_message
from foundation.db.storable import has_unstorable_text
from foundation.json_text import dumps, dumps_indented
from foundation.text.values import find_nearest_values, find_other_word, find_same_values
from mcp_protocol.errors import quote_text
from tools_registry.api import (
    Arguments,
    Blocks,
    BuildOutgoing,
    Guarded,
    Prompt,
    PromptMessage,
    Resource,
    ResourceBody,
    Result,
    Schema,
    Tool,
    ToolFailure,
    ValidationFailure,
)
from tools_registry.api.declared_members import SchemaPlace
from tools_registry.api.model_arguments import ANY, STRUCTURED, is_absent, read_arguments
from tools_registry.api.schemas import (
    ValueTooLarge,
    explains_errors,
    validator_of,
    validator_of_tool,
)
from tools_registry.api.secret_members import has_secret_at
from tools_registry.registry import Catalogue

MASK: Final = "***"
NOT_VALID: Final = "is not valid"
NO_MATCH: Final = "does not match any of the allowed forms"
MAX_REASON_LENGTH: Final = 300
MAX_ECHO_LENGTH: Final = 60
# Errors that one answer names.
MAX_EXPLAINED: Final = 10
# Of an argument that takes one value of a list, or several.
ONE_OR_MORE: Final = "anyOf"


class ResultTooLarge(ToolFailure):
    """The result is larger than HALO_MAX_RESULT_BYTES."""

    kind = "result_too_large"

    def __init__(self) -> None:
        super().__init__("The result is too large. Request less data.", reason=self.kind)


class CallSubject(Guarded, Protocol):
    """The tool, resource or prompt of a call."""

    @property
    def name(self) -> str: ...
    @property
    def streams(self) -> bool: ...
    @property
    def waits(self) -> bool: ...
    @property
    def outgoing(self) -> BuildOutgoing | None: ...
    @property
    def run(self) -> Callable[..., Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CallKind:
    """One kind of call.

    `method` and `name` are what the audit row records as method and subject, `unknown` is the
    reason it records when nothing of the name exists. `validate` returns the arguments that the
    subject runs with. `text` returns the JSON text of a result
    that is sent as text, else an empty string; it raises ToolFailure for a result that is too
    large, TypeError for one that JSON cannot hold.
    """

    method: str
    unknown: str
    find: Callable[[Catalogue, str, UUID], CallSubject | None]
    name: Callable[[Any], str]
    validate: Callable[[Any, Arguments], Arguments]
    text: Callable[[Any], str]


def validate_arguments(tool: Tool, arguments: Arguments) -> Arguments:
    """Returns the arguments that the tool runs with.

    Raises ValidationFailure with the field and what is wrong with it.
    """
    if has_unstorable_text(arguments):
        raise _unstorable()
    schema = tool.argument_schema or tool.input_schema
    given: dict[str, Any] = (
        _remove_absent(schema, arguments) if tool.is_lenient else dict(arguments)
    )
    try:
        validator = validator_of_tool(tool)
    except ValueError:
        # One that was stored before schemas had a price.
        raise _unusable() from None
    try:
        if validator.is_valid(given):
            return given
        types = ANY if tool.reads_text else STRUCTURED
        given = read_arguments(SchemaPlace.from_schema(schema), given, types, tool.owner)
        if tool.is_lenient:
            given = _read_choices(schema, given)
        if has_unstorable_text(given):
            raise _unstorable()
        if validator.is_valid(given):
            return given
        if not explains_errors(tool):
            raise _invalid(_find_unmatched(tool, schema, given))
        errors = list(islice(validator.iter_errors(given), MAX_EXPLAINED))
    except ValueTooLarge as too_large:
        reason = str(too_large)
        message = f"The arguments are {reason}."
        raise ValidationFailure(message, field="arguments", reason=reason) from None
    raise _invalid([_explain_problem(schema, error) for error in errors])


def _remove_absent(schema: Schema, arguments: Arguments) -> dict[str, Any]:
    """The arguments without nulls and empty texts."""
    known = schema["properties"]
    return {
        name: value
        for name, value in arguments.items()
        if not is_absent(value) or name not in known
    }


def _read_choices(schema: Schema, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with each choice that is spelled otherwise as its schema has it."""
    known: Mapping[str, Schema] = schema["properties"]
    return {name: _read_choices_of(known.get(name, {}), value) for name, value in arguments.items()}


def _read_choices_of(schema: Schema, value: Any) -> Any:
    if ONE_OR_MORE not in schema:
        return _read_choice(schema.get("enum", ()), value)
    choices = schema[ONE_OR_MORE][0].get("enum", ())
    parts = _split_choices(value) if isinstance(value, str) else value
    is_read = choices and isinstance(parts, list) and all(isinstance(one, str) for one in parts)
    if not is_read or not parts:
        return value
    read = list(dict.fromkeys(_read_choice(choices, one) for one in parts))
    return read if len(read) > 1 else read[0]


def _split_choices(text: str) -> list[str]:
    """The parts of `a, b` or of a list that was sent as text."""
    parts = (part.strip(" \"'") for part in text.strip("[] ").split(","))
    return [part for part in parts if part]


def _read_choice(choices: Sequence[Any], value: Any) -> Any:
    if choices and isinstance(value, list) and len(value) == 1:
        return _read_choice(choices, value[0])
    if not isinstance(value, str) or value in choices:
        return value
    same = find_same_values(value, [one for one in choices if isinstance(one, str)])
    return same[0] if len(same) == 1 else value


def _unusable() -> ValidationFailure:
    message = "The arguments cannot be checked: the schema of the tool cannot be compiled."
    return ValidationFailure(message, field="arguments", reason="the schema cannot be compiled")


def _unstorable() -> ValidationFailure:
    return ValidationFailure(
        "The arguments contain characters that are not allowed.",
        reason="must not contain NUL or lone surrogate characters",
    )


def _invalid(problems: Sequence[ValidationFailure]) -> ValidationFailure:
    """One error for all arguments that are wrong: its field is the first of them."""
    first, *others = problems
    if not others:
        return first
    each = [": ".join(filter(None, (one.field, one.reason.removesuffix(".")))) for one in problems]
    reason = "; ".join([first.reason.removesuffix("."), *each[1:]])
    return ValidationFailure(
        f"Invalid arguments: {'; '.join(each)}.", field=first.field, reason=reason
    )


def _find_unmatched(
    tool: Tool, schema: Schema, given: Mapping[str, Any]
) -> Sequence[ValidationFailure]:
    """The arguments that their own schemas refuse, without the reason of each alternative."""
    definitions = {"$defs": schema.get("$defs", {})}
    refused = [
        ValidationFailure(f"Invalid arguments: {name} {NO_MATCH}.", field=name, reason=NO_MATCH)
        for name, part in schema.get("properties", {}).items()
        if name in given
        and not validator_of({**definitions, **part}, tool.owner).is_valid(given[name])
    ]
    general = ValidationFailure("Invalid arguments.", field="arguments", reason=NO_MATCH)
    return refused[:MAX_EXPLAINED] or [general]


def _explain_problem(schema: Schema, problem: Any) -> ValidationFailure:
    if isinstance(problem.kind, ErrorKind.AdditionalProperties):
        known = _declared_names(schema, problem.instance_path)
        # Of an object inside, only the names say what was meant.
        if known or not problem.instance_path:
            return _unknown(known, problem.kind.unexpected, problem.instance_path)
    reason = _missing_day(problem) or _shorten_message(_message(schema, problem))
    steps = [str(step) for step in (*problem.instance_path, *_named_property(problem.kind))]
    return ValidationFailure(
        f"Invalid arguments: {reason}", field=".".join(steps)[:300], reason=reason
    )


def _message(schema: Schema, problem: Any) -> str:
    """What is wrong with a value, without the value if there is a secret in it."""
    message = _name_choices(problem) or str(problem.message)
    if isinstance(problem.kind, ErrorKind.Required | ErrorKind.AdditionalProperties):
        return message  # names members, and no value
    if not has_secret_at(schema, list(problem.instance_path), problem.instance):
        return message
    value = dumps(problem.instance).decode()
    return message.replace(value, MASK) if value in message else f"{MASK} {NOT_VALID}"


def _name_choices(problem: Any) -> str:
    """What is wrong with a value that is none of some texts, with all of them or the nearest."""
    is_several = isinstance(problem.kind, ErrorKind.AnyOf)
    kinds = [one.kind for part in problem.kind.context for one in part] if is_several else []
    enums = [one for one in (problem.kind, *kinds) if isinstance(one, ErrorKind.Enum)]
    if not enums:
        return ""
    choices = [one for one in enums[0].options if isinstance(one, str)]
    value = problem.instance
    if is_several and isinstance(value, list):
        value = next((one for one in value if one not in choices), value)
    is_list = isinstance(value, list) and all(isinstance(one, str) for one in value)
    if not choices or not (is_list or isinstance(value, str)):
        return ""
    parts = value if is_list else value.split(",")
    shown = find_nearest_values(parts[0] if parts else "", choices)
    among = " (the nearest)" if len(shown) < len(choices) else ""
    reason = f"{dumps(value).decode()} is not one of {', '.join(shown)}{among}"
    if len(parts) > 1:
        return f"{reason}. Send one value"
    other = find_other_word(value, choices) if not is_list else ""
    return f"{reason}. Use {other}" if other else reason


def _missing_day(problem: Any) -> str:
    is_format = isinstance(problem.kind, ErrorKind.Format)
    return missing_day_message(problem.instance) if is_format else ""


def _declared_names(schema: Schema, path: Sequence[str | int]) -> Sequence[str]:
    """The names of the members that a schema declares for the object at a path."""
    place = SchemaPlace.from_schema(schema)
    for step in path:
        place = place.member(step) if isinstance(step, str) else place.item(step)
    return sorted(place.names)


def _unknown(
    known: Sequence[str], names: Sequence[str], path: Sequence[str | int]
) -> ValidationFailure:
    each = []
    for name in names[:MAX_EXPLAINED]:
        close = get_close_matches(name[:MAX_ECHO_LENGTH], known, n=1)
        perhaps = f', perhaps "{close[0]}"' if close else ""
        each.append(f"Unknown argument {quote_text(name[:MAX_ECHO_LENGTH])}{perhaps}.")
    each.append(f"Valid: {', '.join(known)}." if known else "It takes none.")
    reason = " ".join(each)
    place = ".".join((*map(str, path), names[0]))
    return ValidationFailure(reason, field=place[:MAX_REASON_LENGTH], reason=reason)


def _shorten_message(message: str) -> str:
    """The message begins with the value and ends with the reason: the value is cut."""
    if len(message) <= MAX_REASON_LENGTH:
        return message
    beginning = f"{message[:MAX_ECHO_LENGTH]}..."
    return beginning + message[len(beginning) - MAX_REASON_LENGTH :]


def _named_property(kind: Any) -> Sequence[str]:
    """The property that an error of its whole object is about."""
    match kind:
        case ErrorKind.Required(property=missing):
            return (missing,)
        case ErrorKind.AdditionalProperties(unexpected=surplus):
            return surplus[:1]
    return ()


def _validate_nothing(_resource: Resource, arguments: Arguments) -> Arguments:
    """A read has no arguments besides the URI that found its resource."""
    return arguments


def _validate_prompt(prompt: Prompt, given: Arguments) -> Arguments:
    known = {argument.name for argument in prompt.arguments}
    for name, value in given.items():
        if name not in known:
            raise ValidationFailure(
                "The prompt does not have this argument.", field=name[:300], reason="is unknown"
            )
        if not isinstance(value, str) or has_unstorable_text(value):
            raise ValidationFailure(
                "Prompt arguments must be strings.", field=name, reason="must be a string"
            )
    for argument in prompt.arguments:
        if argument.required and argument.name not in given:
            raise ValidationFailure(
                "A required argument is missing.", field=argument.name, reason="is required"
            )
    return given


def _text_of_result(result: Result) -> str:
    if isinstance(result, Blocks):
        _require_size(len(dumps([result.content, result.structured])))
        return ""
    text = dumps(result.value).decode() if result.is_compact else dumps_indented(result.value)
    if len(text.encode()) > settings.HALO_MAX_RESULT_BYTES:
        raise ResultTooLarge
    return text


def _text_of_body(body: ResourceBody) -> str:
    encoded_size = (
        len(dumps(body.content)) if isinstance(body.content, str) else len(body.content) * 4 // 3
    )
    _require_size(encoded_size)
    return ""


def _text_of_prompt(messages: list[PromptMessage]) -> str:
    _require_size(len(dumps([message.content for message in messages])))
    return ""


def _require_size(size: int) -> None:
    if size > settings.HALO_MAX_RESULT_BYTES:
        raise ResultTooLarge


CALL: Final = CallKind(
    method="tools/call",
    unknown="tool_not_found",
    find=Catalogue.find,
    name=attrgetter("name"),
    validate=validate_arguments,
    text=_text_of_result,
)
READ: Final = CallKind(
    method="resources/read",
    unknown="resource_not_found",
    find=Catalogue.find_resource,
    name=attrgetter("uri"),
    validate=_validate_nothing,
    text=_text_of_body,
)
# Neither runs anything: both are prepared as a read is, and acknowledged.
SUBSCRIBE: Final = replace(READ, method="resources/subscribe")
UNSUBSCRIBE: Final = replace(READ, method="resources/unsubscribe")
GET_PROMPT: Final = CallKind(
    method="prompts/get",
    unknown="prompt_not_found",
    find=Catalogue.find_prompt,
    name=attrgetter("name"),
    validate=_validate_prompt,
    text=_text_of_prompt,
)
