"""Values of lists that a caller names: found in any case and spelling, or the known ones shown."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final

from foundation.text.folding import fold

MAX_SHOWN: Final = 20
# What other products call a value, by the key of their word. It is proposed, and never taken.
OTHER_WORDS: Final = {
    **dict.fromkeys(("closed", "solved", "done", "completed"), "resolved"),
    **dict.fromkeys(("pending", "onhold", "waiting"), "snoozed"),
    **dict.fromkeys(("urgent", "high"), "priority"),
    **dict.fromkeys(("inactive", "former", "canceled", "cancelled", "lost"), "churned"),
    **dict.fromkeys(("trialing", "trialling"), "trial"),
    **dict.fromkeys(("paying", "customer"), "active"),
    "all": "any",
    "new": "open",
}
_SEPARATORS: Final = re.compile(r"[\W_]+")
_BETWEEN_DIGITS: Final = re.compile(r"(?<=\d)[\W_]+(?=\d)")


def value_key(value: str) -> str:
    """Returns a value as it is compared: `Page view`, `page-view` and `pageview` have one key.

    Separators of numbers are kept: `step_1_1` is not `step_11`.
    """
    folded = fold(value)
    numbers = _BETWEEN_DIGITS.split(folded)
    return " ".join(_SEPARATORS.sub("", each) for each in numbers) or folded


def find_same_values(value: str, known: Iterable[str]) -> list[str]:
    """Returns the known values that are the same but for case, spelling and separators."""
    key = value_key(value)
    return [each for each in known if value_key(each) == key]


def find_other_word(value: str, known: Iterable[str]) -> str:
    """Returns the known value that another product has a word for, or an empty text."""
    word = OTHER_WORDS.get(value_key(value), "")
    return word if word in known else ""


def find_nearest_values(value: str, known: Sequence[str], limit: int = MAX_SHOWN) -> list[str]:
    """Returns the known values: all of them in their order, or as many as the limit, nearest first.

    Values that are not near follow in their order.
    """
    if len(known) <= limit:
        return list(known)
    by_key = {value_key(each): each for each in reversed(known)}
    wanted = value_key(value)
    parts = [each for key, each in by_key.items() if wanted and (wanted in key or key in wanted)]
    close = [by_key[key] for key in get_close_matches(wanted, by_key, n=limit)]
    return list(dict.fromkeys((*close, *parts, *known)))[:limit]
