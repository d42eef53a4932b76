"""HTTP header fields; a message may have several with the same name."""

from collections.abc import Sequence
from typing import Final

COOKIE: Final = "cookie"


def combine_repeated(fields: Sequence[tuple[str, str]], comma: str = ", ") -> dict[str, str]:
    """Returns the values by name; names are in lower case, and the values of a name are joined.

    They are joined in their order, with a comma (RFC 9110 section 5.3), and those of Cookie with a
    semicolon (RFC 9113 section 8.2.3).
    """
    values = dict(fields)
    if len(values) == len(fields):
        return values
    repeated: dict[str, list[str]] = {}
    for name, value in fields:
        repeated.setdefault(name, []).append(value)
    return {
        name: ("; " if name == COOKIE else comma).join(several)
        for name, several in repeated.items()
    }
