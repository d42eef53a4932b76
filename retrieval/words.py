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

from foundation.text.stems import stem as index_stem
from foundation.text.words import Form, split_words

WORD: Final = re.compile(r"[^\W_]+")
# Endings of derived words in English and of inflected ones in German, French and Spanish.
DERIVED_ENDING: Final = re.compile(
    "(?:ations?|ments?|ness|ions?|ors?|ers?|ing|able|ible|ally|al|ity|ive|ance|ence|ly|age"
    "|ungen|ung|iert|ieren|lich|ern|en|es|er|os|as|e|s|i|at)$"
)
SHORTEST_SHARED: Final = 5
MAX_LENGTH: Final = 40
SYNONYMS: Final = Path(__file__).with_name("synonyms.txt")
# Words that questions have whatever they are about.
COMMON: Final = Path(__file__).with_name("common_words.txt")
# Words of German, French and Spanish that say little by themselves.
FUNCTION: Final = Path(__file__).with_name("function_words.txt")
STOP_WORDS: Final = frozenset(
    WORD.findall("""
    a about after again all also am an and any are as at be because been before being both but by
    can cannot could d did do does doing don during each else for from further get gets getting
    got had has have having he her here hers him his how i if in into is it its itself just let ll
    m may me might more most must my nor now of once only or other our ours over
    own please re really s same shall she should so some such t than that the their theirs them
    then there these they this those through to too under until us use used uses using ve very
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
    """Returns the folded words, in order; longer ones than 40 characters are left out."""
    return [word for word in split_words(text) if len(word) <= MAX_LENGTH]


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


def derivation(word: str) -> str:
    """Returns what an index word shares with the words derived from it, or nothing if too short.

    `encrypt` for the stems of encryption and of encrypted.
    """
    if not word.isalpha():
        return ""
    shared = DERIVED_ENDING.sub("", word)
    if len(shared) < SHORTEST_SHARED - word.endswith(("en", "ung")):
        shared = word
    elif len(shared) == SHORTEST_SHARED - 1:
        return shared
    return shared if len(shared) >= SHORTEST_SHARED else ""


def is_common(*spellings: str) -> bool:
    """Whether a word, in one of its spellings, does not say what a question is about."""
    return any(spelling in _common() for spelling in spellings)


def is_function_word(spelling: str) -> bool:
    """Whether a folded word of German, French or Spanish says little by itself."""
    return spelling in _functional()


@lru_cache(maxsize=4_096)
def synonyms_of(form: Form) -> tuple[str, ...]:
    """Returns the words and phrases that mean the same as index words in a row.

    They are index words. The last one ends with * if other words with this beginning mean so too.
    """
    keys = {" ".join(form), " ".join(map(stem, form))}
    found = (member for key in sorted(keys) for name in groups_of(key) for member in _members(name))
    return tuple(member for member in dict.fromkeys(found) if member not in keys)


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
def _common() -> frozenset[str]:
    return frozenset(split_words(COMMON.read_text(encoding="utf-8")))


@cache
def _functional() -> frozenset[str]:
    return frozenset(split_words(FUNCTION.read_text(encoding="utf-8")))


@cache
def _all_members() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for members in _lines():
        spelled = [" ".join(map(index_stem, split_words(member))) for member in members]
        begun = [f"{each}*" for each in map(_key, members) if len(each) >= SHORTEST_SHARED]
        found[members[0]] = (*found.get(members[0], ()), *spelled, *begun)
    return found


def _members(name: str) -> tuple[str, ...]:
    return _all_members().get(name, ())


@cache
def _groups() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for members in _lines():
        for member in members:
            found[_key(member)] = (*found.get(_key(member), ()), members[0])
    return found


def _key(member: str) -> str:
    return " ".join(stems(member))


@cache
def _lines() -> list[list[str]]:
    """Returns the groups of synonyms, each with its members."""
    lines = SYNONYMS.read_text(encoding="utf-8").splitlines()
    parts = ([part.strip() for part in line.split(",")] for line in lines if line[:1] != "#")
    return [members for each in parts if (members := [part for part in each if part])]
