"""What changed between two versions of an operation, as sentences for an admin."""

from collections.abc import Mapping
from typing import Any, Final

from gateway.openapi.shapes import Operation

NOT_NAMED: Final = "Something else changed in how a request is written."


def sentences(before: Operation, after: Operation) -> list[str]:
    """Returns the changes of a tool's meaning; at least one sentence."""
    found = []
    if before.method.upper() != after.method.upper() or before.path != after.path:
        old, new = (f"{one.method.upper()} {one.path}" for one in (before, after))
        found.append(f"The request is {new}. It was {old}.")
    found += _arguments(before.full_schema, after.full_schema)
    if _body(before) != _body(after):
        found.append(f"The body is sent as {_body(after)}. It was sent as {_body(before)}.")
    if before.security != after.security:
        found.append("Another credential is needed.")
    return found or [NOT_NAMED]


def _arguments(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    old, new = before.get("properties", {}), after.get("properties", {})
    required, required_before = set(after.get("required", ())), set(before.get("required", ()))
    found = [f"The argument {name} is new." for name in sorted(new.keys() - old.keys())]
    found += [f"The argument {name} is gone." for name in sorted(old.keys() - new.keys())]
    for name in sorted(old.keys() & new.keys()):
        if old[name] != new[name]:
            found.append(f"The argument {name} takes other values.")
        if (name in required) != (name in required_before):
            state = "required" if name in required else "optional"
            found.append(f"The argument {name} became {state}.")
    if before.get("$defs") != after.get("$defs"):
        found.append("The objects inside the arguments changed.")
    return found


def _body(operation: Operation) -> str:
    return operation.body.media_type if operation.body else "no body"
