"""Text that databases cannot store, and its escaped form.

PostgreSQL stores neither NUL, which ends a C string, nor a lone surrogate, which has no UTF-8 form
(PostgreSQL 15, 8.14.1). JSON may hold both, escaped (RFC 8259, section 8.2).
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final

import orjson

UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
# Of a name in a place.
MAX_NAME: Final = 100


def has_unstorable_text(value: object) -> bool:
    """Returns whether a key or string in a JSON value holds NUL or a lone surrogate."""
    try:
        # orjson refuses lone surrogates and always escapes NUL; most values are decided here.
        if rb"\u0000" not in orjson.dumps(value):
            return False
    except TypeError:
        pass
    return any(isinstance(leaf, str) and UNSTORABLE.search(leaf) for leaf in leaves(value))


def unstorable_place(value: object) -> str | None:
    """Returns where a JSON value holds NUL or a lone surrogate, such as `users[3].name`, or None.

    A key that does is in the object that holds it; "" is the value itself.
    """
    if not has_unstorable_text(value):
        return None
    for name, member in _named_members(value):
        inner = unstorable_place(member)
        if inner is not None:
            between = "." if inner and not inner.startswith("[") else ""
            return f"{name}{between}{inner}"
    return ""


def escape_unstorable(value: object) -> object:
    r"""Returns a JSON value with NUL and lone surrogates escaped as text, such as `\u0000`.

    For rows that record what a client sent. Two keys that differ only in their escapes become one.
    """
    return escape_characters(value, UNSTORABLE) if has_unstorable_text(value) else value


def storable_json(value: object) -> str:
    """Returns a JSON value as text for a JSON column, with unstorable characters escaped."""
    try:
        # As above: orjson refuses lone surrogates and always escapes NUL.
        written = orjson.dumps(value)
    except TypeError:
        written = rb"\u0000"
    if rb"\u0000" not in written:
        return written.decode()
    return json.dumps(escape_unstorable(value))


def escape_characters(value: object, pattern: re.Pattern[str]) -> object:
    """Returns a JSON value with every character that matches `pattern` escaped."""
    if isinstance(value, str):
        return pattern.sub(_escape, value)
    if isinstance(value, dict):
        return {
            escape_characters(key, pattern): escape_characters(item, pattern)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [escape_characters(item, pattern) for item in value]
    return value


def leaves(value: object) -> Iterator[object]:
    """Yields the keys and the scalars of a JSON value, without recursion."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield from node
        if isinstance(node, dict | list | tuple):
            waiting.extend(members(node))
        else:
            yield node


def members(node: object) -> Iterable[object]:
    """Returns the direct members of an object or array, and nothing for a scalar."""
    if isinstance(node, dict):
        return node.values()
    return node if isinstance(node, list | tuple) else ()


def _named_members(value: object) -> Iterable[tuple[str, object]]:
    """Returns the members of an array or object by name; nothing if a name is not storable."""
    if isinstance(value, dict):
        is_named = not has_unstorable_text([*value])
        return [(name[:MAX_NAME], one) for name, one in value.items()] if is_named else ()
    return [(f"[{number}]", one) for number, one in enumerate(members(value))]


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
