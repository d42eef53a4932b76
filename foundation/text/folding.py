"""The form in which texts are compared: no case, no marks, no invisible characters."""

import re
import sys
import unicodedata
from itertools import pairwise
from typing import Final


def list_ranges(categories: str) -> str:
    """Returns the characters of some categories as the inside of a set of a pattern."""
    codes = [code for code in range(0x80, 0x20000) if unicodedata.category(chr(code)) in categories]
    starts = [code for before, code in pairwise([-1, *codes]) if code != before + 1]
    ends = [code for code, after in pairwise([*codes, sys.maxunicode + 2]) if after != code + 1]
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in zip(starts, ends, strict=True))


# Control characters except tab and line feed, and Default_Ignorable_Code_Point (Unicode,
# DerivedCoreProperties.txt), which includes bidirectional marks, tags and variation selectors.
INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# Marks that letters are written with or without: diacritics of Latin, Greek and Cyrillic letters,
# points of Hebrew and vowel signs of Arabic. Other scripts have marks that make another letter.
_MARKS: Final = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f"
    "\u0670\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]"
)
MARKS: Final = list_ranges("Mn Mc")
# More marks in a row than any language has. To normalize them takes the square of their number.
# Source: Unicode UAX #15, "Stream-Safe Text Format". The last two become marks.
_MANY_MARKS: Final = re.compile(f"([{MARKS}\uff9e\uff9f]{{30}})[{MARKS}\uff9e\uff9f]+")
_SPACES: Final = re.compile(r"[\s\0]+")
# Letters without a decomposition, signs of trade marks that would become letters, hyphens, and
# apostrophes: U+0027 and what is typed in its place.
_EQUIVALENTS: Final = str.maketrans(
    {
        **dict(zip("\u0131øđðłħŧĸŋ", "ioddlhtkn", strict=True)),
        "æ": "ae",
        "œ": "oe",
        "þ": "th",
        **dict.fromkeys("\u2120\u2122", " "),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-"),
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u02b9\u02bb\u02bc\u02bd\u02c8\u2032\u2035", "'"),
        **dict.fromkeys("\u0060\u00b4\u055a\u05f3\ua78c\uff07\uff40", "'"),
    }
)


def remove_invisible(text: str) -> str:
    """Returns a text without invisible characters."""
    return INVISIBLE.sub("", text)


def compose(text: str) -> str:
    """Returns a text with each letter and its marks as one character, where there is one (NFC)."""
    return unicodedata.normalize("NFC", _MANY_MARKS.sub(r"\1", text))


def fold(text: str) -> str:
    """Returns a text in the form that is compared, with single spaces.

    `Größe` and `GRÖSSE` are `grosse`, composed or decomposed; `İade` is `iade`.
    """
    if text.isascii():
        return " ".join(INVISIBLE.sub("", _SPACES.sub(" ", text)).lower().replace("`", "'").split())
    # An acute accent of its own would become a space with a mark (NFKC).
    text = remove_invisible(_SPACES.sub(" ", text)).translate(_EQUIVALENTS)
    text = _MANY_MARKS.sub(r"\1", text)
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    text = unicodedata.normalize("NFKC", _MARKS.sub("", text)).translate(_EQUIVALENTS)
    return " ".join(text.split())
