"""completion/complete: values for the argument that somebody is typing.

Only of what the caller may see: a reference to anything else is unknown, whether it exists or not.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import structlog

from foundation.db.storable import has_unstorable_text
from mcp_protocol import failures, prompt_shapes
from mcp_protocol.errors import ProtocolError
from mcp_protocol.strict_json import JsonObject
from tools_registry.api import Complete, Prompt, ResourceTemplate
from tools_registry.api.uri_templates import compile_template
from tools_registry.endpoint.methods.request import MethodRequest, object_in, text_in
from tools_registry.pipeline import calls, visibility

log = structlog.get_logger(__name__)

MAX_VALUE_LENGTH: Final = 1_000

Completions = Mapping[str, Complete | None]


def complete(request: MethodRequest) -> JsonObject:
    """The values that fit, best first; nothing where an argument offers none."""
    argument = object_in(request.params, "argument")
    offered = _completions(request)
    name = text_in(argument, "name")
    if name not in offered:
        raise _invalid("argument.name", "Unknown argument.")
    function, value, others = offered[name], _value(argument), _others(request)
    values = _values(function, request, value, others) if function else ()
    return prompt_shapes.completion_result(values, request.revision)


def _completions(request: MethodRequest) -> Completions:
    reference = object_in(request.params, "ref")
    kind = reference.get("type")
    find = REFERENCES.get(kind) if isinstance(kind, str) else None
    if find is None:
        raise _invalid("ref.type", "Unknown reference type.")
    found = find(reference, request)
    if found is None:
        raise _invalid("ref", "The reference is unknown.")
    return found


def _prompt_completions(reference: Mapping[str, Any], request: MethodRequest) -> Completions | None:
    who, surface = request.principal, request.surface
    prompt = surface.catalogue.find_prompt(text_in(reference, "name"), who.organization_id)
    if prompt is None or not visibility.filter_visible([prompt], who, surface):
        return None
    return _argument_completions(prompt)


def _template_completions(
    reference: Mapping[str, Any], request: MethodRequest
) -> Completions | None:
    uri, who, surface = text_in(reference, "uri"), request.principal, request.surface
    offered = surface.catalogue.templates(who.organization_id)
    for template in visibility.filter_visible(offered, who, surface):
        # "The URI or URI template of the resource" (schema, ResourceTemplateReference).
        if template.uri_template == uri or template.find_resource(uri) is not None:
            return _variable_completions(template)
    return None


def _argument_completions(prompt: Prompt) -> Completions:
    return {argument.name: argument.complete for argument in prompt.arguments}


def _variable_completions(template: ResourceTemplate) -> Completions:
    variables = compile_template(template.uri_template).variables
    return {name: template.completions.get(name) for name in variables}


def _value(argument: Mapping[str, Any]) -> str:
    value = argument.get("value")
    if not _is_text(value):
        raise _invalid(
            "argument.value",
            f"The value must be a string of at most {MAX_VALUE_LENGTH} characters.",
        )
    return str(value)


def _others(request: MethodRequest) -> Mapping[str, str]:
    others = object_in(object_in(request.params, "context"), "arguments")
    if not all(map(_is_text, others.values())):
        raise _invalid("context.arguments", "Arguments must be strings.")
    return others


def _is_text(value: object) -> bool:
    is_short = isinstance(value, str) and len(value) <= MAX_VALUE_LENGTH
    return is_short and not has_unstorable_text(value)


def _values(
    function: Complete, request: MethodRequest, value: str, others: Mapping[str, str]
) -> Sequence[str]:
    try:
        context = calls.make_context(request.principal, request.surface)
        return function(context, value, others)
    except Exception:
        # A courtesy while somebody types: it offers nothing rather than fail.
        log.exception("completion_failed")
        return ()


def _invalid(field: str, message: str) -> ProtocolError:
    return failures.invalid_field(field, message, "is not valid")


REFERENCES: Final[
    Mapping[str, Callable[[Mapping[str, Any], MethodRequest], Completions | None]]
] = {
    "ref/prompt": _prompt_completions,
    "ref/resource": _template_completions,
}
