"""Names of people and companies: the keys they are found by, and how near two of them are."""

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice, product
from typing import Final

from foundation.text.folding import fold
from foundation.text.words import list_umlaut_variants

MAX_NAME: Final = 200
NEAR: Final = 0.7
# Of a name with several words that have two spellings.
MAX_VARIANTS: Final = 16
# Of each word; the average of a name has to be near.
LIKE: Final = 0.6
# A piece of a word by which those are looked for that have one typing error.
SHORTEST_PIECE: Final = 2
_WITHOUT_SIGNS: Final = {ord("'"): None, ord("."): None, ord("-"): " "}


def name_key(name: str) -> str:
    """Returns the key of a name: folded, without apostrophes, full stops and hyphens."""
    return " ".join(fold(name).translate(_WITHOUT_SIGNS).split())[:MAX_NAME]


def list_name_keys(name: str) -> list[str]:
    """Returns the keys of a name and of its other spellings, for searches that list rows."""
    return list(dict.fromkeys((*list_own_keys(name), *list_variant_keys(name))))


def list_own_keys(name: str) -> list[str]:
    """Returns the keys of rows that have this name.

    They are its key, and the one by which versions before 0108 stored it: rows keep that until
    `customers.text_backfill` has reached them.
    """
    earlier = " ".join(name.split()).casefold()[:MAX_NAME]
    return list(dict.fromkeys(one for one in (name_key(name), earlier) if one))


def list_variant_keys(name: str) -> list[str]:
    """Returns the keys of other spellings of a name: with ae for ä, and with a for ae.

    A row with such a key may have another name: `rafal` is a variant of Rafael. `is_same_name`
    tells them apart.
    """
    spellings = islice(product(*_list_word_spellings(name)), 1, MAX_VARIANTS)
    keys = dict.fromkeys(name_key(" ".join(each)) for each in spellings)
    return [key for key in keys if key != name_key(name)]


def is_same_name(name: str, other: str) -> bool:
    """Whether two names are the same once ä, ö and ü are written as ae, oe and ue."""
    return _spell_out(name) == _spell_out(other)


def _spell_out(name: str) -> str:
    # Of a word with ä the other spelling is the longer one, of a word with ae the shorter one.
    return name_key(" ".join(max(each, key=len) for each in _list_word_spellings(name)))


def _list_word_spellings(name: str) -> Iterator[tuple[str, ...]]:
    """Yields for each word of a name its key and those of its other spellings."""
    for word in name.split():
        key = name_key(word)
        yield key, *list_umlaut_variants(word, key)


def halve_word(word: str) -> tuple[str, str]:
    """Returns a beginning and an end: with one typing error a word still has one of them.

    A wrong, missing or additional letter is such an error. The end is empty for one or two letters.
    """
    if len(word) <= SHORTEST_PIECE:
        return word, ""
    middle = (len(word) + 1) // 2
    return word[:middle], word[min(middle, len(word) - SHORTEST_PIECE) :]


def remove_middle(word: str) -> tuple[str, str]:
    """Returns the beginning and the end that a word has when the letters between are swapped."""
    middle = (len(word) + 1) // 2
    return word[: middle - 1] or word[:1], word[middle + 1 :]


def find_nearest_names(name: str, keys: Iterable[str], limit: int) -> list[str]:
    """Returns the keys that are near a name, the nearest first.

    Near are those that have its words, or their beginnings, or a word that is nearly the same.
    """
    wanted = name_key(name).split()
    rated = [(_rate_name(wanted, key.split()), key) for key in dict.fromkeys(keys)]
    near = sorted((-nearness, key) for nearness, key in rated if nearness >= NEAR)
    return [key for _, key in near[:limit]]


def _rate_name(wanted: Sequence[str], words: Sequence[str]) -> float:
    """Returns from 0 to 1 how well each word that is wanted is among others."""
    if not wanted or not words:
        return 0.0
    found = [max(_rate_word(word, other) for other in words) for word in wanted]
    if min(found) < LIKE:
        return 0.0
    # Of two names with the same words, the shorter one is nearer.
    return sum(found) / len(found) - 0.01 * max(0, len(words) - len(wanted))


def _rate_word(word: str, other: str) -> float:
    if word == other:
        return 1.0
    if other.startswith(word):
        return 0.95
    if 2 * min(len(word), len(other)) < LIKE * (len(word) + len(other)):
        return 0.0
    # Without this, the ends of words outweigh their beginnings.
    matcher = SequenceMatcher(None, word, other, autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() >= LIKE else 0.0
