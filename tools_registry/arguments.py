"""Arguments against a tool's schema (JSON Schema 2020-12), without coercion.

`jsonschema-rs` validates in under a microsecond, matches patterns in linear time and is given a
retriever that refuses, so that no schema can make this process fetch something.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NoReturn

import jsonschema_rs
import orjson
from jsonschema_rs import ValidationErrorKind as ErrorKind

from foundation.storable import has_unstorable_text
from tools_registry.types import Arguments, Invalid, Schema, Tool


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


def validator_of(schema: Schema) -> Any:
    """A compiled validator. Raises ValueError for a schema that is none or points elsewhere."""
    return _compiled(orjson.dumps(schema, option=orjson.OPT_SORT_KEYS))


@lru_cache(maxsize=4096)
def _compiled(schema: bytes) -> Any:
    # The engine without backtracking: a pattern that needs some (look-around, back-references)
    # does not compile, so none can be made to run for minutes.
    return jsonschema_rs.Draft202012Validator(
        orjson.loads(schema), retriever=_refuse, pattern_options=jsonschema_rs.RegexOptions()
    )


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"a schema may not refer to {uri}")


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
