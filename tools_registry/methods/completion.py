"""completion/complete: what could stand where somebody is typing.

Only of what the caller may see: a reference to anything else is unknown, whether it exists or not.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import structlog

from foundation.storable import has_unstorable_text
from mcp_protocol import failures, prompt_shapes
from mcp_protocol.errors import ProtocolError
from mcp_protocol.strict_json import JsonObject
from oauth.principal import Principal
from tools_registry import registry, visibility
from tools_registry.methods.exchange import Exchange, object_in, text_in
from tools_registry.types import Complete, Prompt, ResourceTemplate
from tools_registry.uri_templates import compiled

log = structlog.get_logger(__name__)

LONGEST_VALUE: Final = 1_000

Completions = Mapping[str, Complete | None]


def complete(exchange: Exchange) -> JsonObject:
    """The values that fit, best first; nothing where an argument offers none."""
    argument = object_in(exchange.params, "argument")
    offered = _completions(exchange)
    name = text_in(argument, "name")
    if name not in offered:
        raise _invalid("argument.name", "There is no such argument.")
    function, value, others = offered[name], _value(argument), _others(exchange)
    values = _values(function, exchange.principal, value, others) if function else ()
    return prompt_shapes.completion_result(values, exchange.revision)


def _completions(exchange: Exchange) -> Completions:
    reference = object_in(exchange.params, "ref")
    kind = reference.get("type")
    find = REFERENCES.get(kind) if isinstance(kind, str) else None
    if find is None:
        raise _invalid("ref.type", "There is no such kind of reference.")
    found = find(reference, exchange.principal)
    if found is None:
        raise _invalid("ref", "The reference is unknown.")
    return found


def _of_prompt(reference: Mapping[str, Any], who: Principal) -> Completions | None:
    prompt = registry.find_prompt(text_in(reference, "name"), who.organization_id)
    if prompt is None or not visibility.among([prompt], who):
        return None
    return _argument_completions(prompt)


def _of_template(reference: Mapping[str, Any], who: Principal) -> Completions | None:
    uri = text_in(reference, "uri")
    for template in visibility.among(registry.templates(who.organization_id), who):
        # "The URI or URI template of the resource" (schema, ResourceTemplateReference).
        if template.uri_template == uri or template.at(uri) is not None:
            return _variable_completions(template)
    return None


def _argument_completions(prompt: Prompt) -> Completions:
    return {argument.name: argument.complete for argument in prompt.arguments}


def _variable_completions(template: ResourceTemplate) -> Completions:
    variables = compiled(template.uri_template).variables
    return {name: template.completions.get(name) for name in variables}


def _value(argument: Mapping[str, Any]) -> str:
    value = argument.get("value")
    if not _is_text(value):
        raise _invalid("argument.value", f"Text of at most {LONGEST_VALUE} characters is expected.")
    return str(value)


def _others(exchange: Exchange) -> Mapping[str, str]:
    others = object_in(object_in(exchange.params, "context"), "arguments")
    if not all(map(_is_text, others.values())):
        raise _invalid("context.arguments", "Arguments are text.")
    return others


def _is_text(value: object) -> bool:
    is_short = isinstance(value, str) and len(value) <= LONGEST_VALUE
    return is_short and not has_unstorable_text(value)


def _values(
    function: Complete, who: Principal, value: str, others: Mapping[str, str]
) -> Sequence[str]:
    try:
        return function(visibility.context(who), value, others)
    except Exception:
        # A courtesy while somebody types: it offers nothing rather than fail.
        log.exception("completion_failed")
        return ()


def _invalid(field: str, message: str) -> ProtocolError:
    return failures.invalid_field(field, message, "is not valid")


REFERENCES: Final[Mapping[str, Callable[[Mapping[str, Any], Principal], Completions | None]]] = {
    "ref/prompt": _of_prompt,
    "ref/resource": _of_template,
}
