"""Splits text into the words that the offline embedder and reranker compare.

`synonyms.txt` names groups of words of product support that mean the same.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Final

WORD: Final = re.compile(r"[^\W_]+")
MAX_LENGTH: Final = 40
SYNONYMS: Final = Path(__file__).with_name("synonyms.txt")
STOP_WORDS: Final = frozenset(
    WORD.findall("""
    a about after again all also am an and any are as at be because been before being both but by
    can cannot could d did do does doing don during each else for from further get gets getting
    got had has have having he her here hers him his how i if in into is it its itself just let ll
    m may me might more most must my no nor not now of off on once only or other our ours out over
    own please re really s same shall she should so some such t than that the their theirs them
    then there these they this those through to too under until up us use used uses using ve very
    want was we were what when where whether which while who whom whose why will with would you
    your yours
    """)
)
# The longest ending comes first; what remains must have at least three characters.
ENDINGS: Final = (
    ("ization", "ize"),
    ("isation", "ize"),
    ("ational", "ate"),
    ("fulness", "ful"),
    ("ations", "ate"),
    ("ation", "ate"),
    ("ities", ""),
    ("ments", ""),
    ("ness", ""),
    ("ment", ""),
    ("ings", ""),
    ("ies", "y"),
    ("ing", ""),
    ("ers", ""),
    ("ors", ""),
    ("ity", ""),
    ("ied", "y"),
    ("sses", "ss"),
    ("ed", ""),
    ("er", ""),
    ("or", ""),
    ("ly", ""),
    ("es", ""),
    ("s", ""),
)
SHORTEST_STEM: Final = 3


def words(text: str) -> list[str]:
    """Returns the words in lower case, in order; longer ones than 40 characters are left out."""
    return [word for word in WORD.findall(text.lower()) if len(word) <= MAX_LENGTH]


def stems(text: str) -> list[str]:
    """Returns the stems of the words that carry meaning, in order."""
    return [stem(word) for word in words(text) if word not in STOP_WORDS]


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """Returns a word without its inflection, for example `refund` for `refunding`."""
    for ending, instead in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            if ending == "s" and word.endswith(("ss", "us", "is")):
                return word
            return _plain(word[: len(word) - len(ending)] + instead)
    return _plain(word)


def groups(stemmed: Sequence[str]) -> list[tuple[str, ...]]:
    """Returns the groups of synonyms of each stem, and of each two adjacent ones, that has any."""
    phrases = (" ".join(pair) for pair in pairwise(stemmed))
    known = _groups()
    return [known[each] for each in (*stemmed, *phrases) if each in known]


def groups_of(stem_or_pair: str) -> tuple[str, ...]:
    """Returns the names of the groups of synonyms of a stem, or of two with a space between."""
    return _groups().get(stem_or_pair, ())


@cache
def synonyms_digest() -> str:
    """Returns eight digits that change with the groups of synonyms."""
    return sha256(SYNONYMS.read_bytes()).hexdigest()[:8]


def _plain(stemmed: str) -> str:
    # "planning" and "plan", "exchange" and "exchanging", "policy" and "policies".
    if len(stemmed) > SHORTEST_STEM and stemmed[-1] == stemmed[-2] and stemmed[-1] not in "ls":
        stemmed = stemmed[:-1]
    if len(stemmed) > SHORTEST_STEM and stemmed[-1] == "e":
        stemmed = stemmed[:-1]
    return f"{stemmed[:-1]}i" if stemmed.endswith("y") else stemmed


@cache
def _groups() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in SYNONYMS.read_text(encoding="utf-8").splitlines():
        members = [part.strip() for part in line.split(",") if part.strip()]
        if not members or line.startswith("#"):
            continue
        for member in members:
            key = " ".join(stems(member))
            found[key] = (*found.get(key, ()), members[0])
    return found
