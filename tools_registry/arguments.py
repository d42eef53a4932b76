"""Arguments against a tool's schema (JSON Schema 2020-12), without coercion."""

from collections.abc import Sequence
from typing import Any

from jsonschema_rs import ValidationErrorKind as ErrorKind

from foundation.storable import has_unstorable_text
from tools_registry.schemas import validator_of
from tools_registry.types import Arguments, Invalid, Tool


def validate(tool: Tool, arguments: Arguments) -> None:
    """Raise Invalid with the field and what is wrong with it, in plain words."""
    if has_unstorable_text(arguments):
        raise Invalid(
            "The arguments hold text that cannot be stored.",
            reason="must not hold NUL or lone surrogate characters",
        )
    problem = next(iter(validator_of(tool.input_schema).iter_errors(dict(arguments))), None)
    if problem is not None:
        raise _explained(problem)


def _explained(problem: Any) -> Invalid:
    reason = str(problem.message)[:300]
    steps = [str(step) for step in (*problem.instance_path, *_named(problem.kind))]
    return Invalid(f"Invalid arguments: {reason}", field=".".join(steps)[:300], reason=reason)


def _named(kind: Any) -> Sequence[str]:
    """The property that an error of its whole object is about."""
    match kind:
        case ErrorKind.Required(property=missing):
            return (missing,)
        case ErrorKind.AdditionalProperties(unexpected=surplus):
            return surplus[:1]
    return ()
