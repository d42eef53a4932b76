"""Ids that an organization's own app gives: of customers, companies, sessions and tickets.

A program that has no id often sends a word for it, such as `undefined`. Everybody whose id is
missing would become one customer, so these words are refused. Source: docs/identification.md, Ids.
"""

import unicodedata
from typing import Any, Final

from customers.identification.field_values import InvalidValue, check_storable

MAX_ID: Final = 200
# In any case, and in quotes or brackets of every kind: what languages print of a value that is
# missing, and what templates and analytics libraries send.
NO_IDS: Final = frozenset(
    {
        *("null", "nil", "none", "undefined", "nan", "0", "-1", "true", "false"),
        *("object object", "00000000-0000-0000-0000-000000000000"),
        *("anonymous", "guest", "unknown", "not_authenticated", "not_set"),
        *("id", "user.id", "user_id", "userid", "distinct_id", "distinctid", "email"),
    }
)
QUOTES: Final = "\"'`\u00b4\u2018\u2019\u201c\u201d[]{}()<>"
# Control characters, invisible ones, and every kind of space.
UNSEEN: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})


def parse_id(value: Any) -> str:
    """Returns an id without the spaces and invisible characters around it. Raises InvalidValue."""
    if not isinstance(value, str):
        raise InvalidValue("Send a string.")
    check_storable(value)
    if len(value) > MAX_ID:
        raise InvalidValue(f"Send at most {MAX_ID} characters.")
    named = _trim(value)
    if not named:
        raise InvalidValue("The id has no visible character. Leave it out if there is none.")
    if any(unicodedata.category(character) == "Cc" for character in named):
        raise InvalidValue("The id contains a control character.")
    if _is_no_id(named):
        raise InvalidValue(
            f'"{named}" is what programs send if they have no id. Leave it out if there is none.'
        )
    return named


def _trim(value: str) -> str:
    first, end = 0, len(value)
    while first < end and _is_unseen(value[first]):
        first += 1
    while end > first and _is_unseen(value[end - 1]):
        end -= 1
    return value[first:end]


def _is_unseen(character: str) -> bool:
    return unicodedata.category(character) in UNSEEN


def _is_no_id(named: str) -> bool:
    bare = unicodedata.normalize("NFKC", named).strip(QUOTES).strip().casefold()
    return not bare or bare in NO_IDS
