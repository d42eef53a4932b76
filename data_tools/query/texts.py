"""Text of customers as a model reads it: without invisible characters, and cut.

Invisible characters carry instructions that a person who looks at the text does not see.
"""

from collections.abc import Mapping
from typing import Final

from foundation.invisible import remove_invisible
from tools_registry.api import Json

MAX_CONCISE: Final = 500
MAX_DEPTH: Final = 16


def clean(text: str) -> str:
    """Returns a text without invisible characters."""
    return remove_invisible(text)


def cut(text: str, longest: int = MAX_CONCISE) -> str:
    """Returns the beginning of a text, with an ellipsis in place of the rest."""
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def line(text: str, longest: int = 60) -> str:
    """Returns a text of a customer for a message: clean, on one line, and short."""
    return cut(" ".join(clean(text).split()), longest)


def compact(value: Json, depth: int = MAX_DEPTH) -> Json:
    """Returns a JSON value with clean text and without null, empty text, arrays and objects.

    What is nested more deeply is left out.
    """
    if isinstance(value, str):
        return clean(value)
    if not isinstance(value, Mapping | list | tuple):
        return value
    if depth == 0:
        return None
    if isinstance(value, Mapping):
        members = ((clean(str(name)), compact(one, depth - 1)) for name, one in value.items())
        return {name: one for name, one in members if not _is_empty(one)}
    return [one for one in (compact(each, depth - 1) for each in value) if not _is_empty(one)]


def _is_empty(value: Json) -> bool:
    return value is None or (isinstance(value, str | dict | list) and not value)
