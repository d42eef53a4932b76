"""English words without their inflections: plurals, and the endings of verbs.

The rules are steps 1 and 5 of the Snowball stemmer for English
(https://snowballstem.org/algorithms/english/stemmer.html), which remove inflections. Its other
steps are left out: they make one word of `customer` and `custom`, or `organization` and `organ`.
What those steps leave apart, as `menus` and `CPUs`, is in the lists of this module.
"""

import re
from functools import lru_cache
from typing import Final

SHORTEST: Final = 3
# Other words than what the rules would make of them.
IRREGULAR: Final = {
    **{word: word for word in ("embed", "exceed", "proceed", "succeed", "inning", "outing")},
    **{word: word for word in ("alias", "always", "atlas", "bias", "canvas", "ios", "lens")},
    **{word: word for word in ("news", "ups")},
    **{f"{word}es": word for word in ("alias", "atlas", "bias", "bus", "canvas", "gas", "lens")},
    **{f"{word}es": word for word in ("plus", "yes")},
    **{f"{word}s": word for word in ("bureau", "cpu", "gpu", "guru", "menu", "npu", "plateau")},
    **{f"{word}s": word for word in ("sku", "submenu", "tpu")},
    **{f"{word}s": word for word in ("db", "pc", "pr", "qr", "tv", "vm")},
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "freed": "free",
    "queued": "queue",
    "queuing": "queue",
    "quizzes": "quiz",
}
_VOWEL: Final = "[aeiouy]"
_OTHER: Final = "[^aeiouy]"
# R1 of a word: what follows the first consonant after a vowel. R2 is the R1 of R1.
_TO_REGION: Final = re.compile(f".*?{_VOWEL}{_OTHER}")
_SHORT_SYLLABLE: Final = re.compile(f"(?:{_OTHER}{_VOWEL}[^aeiouywx]|^{_VOWEL}{_OTHER})$")
_PLURAL_S: Final = re.compile(f"{_VOWEL}.+s$|.{{2,}}is$|^{_OTHER}{{3,}}s$")
_DOUBLE: Final = re.compile(r"(?:bb|dd|ff|gg|mm|nn|pp|rr|tt)$")


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Returns a folded word without an English inflection: `invoic` for invoices and invoiced."""
    if len(word) < SHORTEST or not word.isascii() or not word.isalpha():
        return word
    singular = IRREGULAR.get(word) or _remove_plural(word)
    return _remove_end(IRREGULAR.get(singular) or _remove_participle(singular))


def _remove_plural(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ies", "ied")):
        return word[:-2] if len(word) > SHORTEST + 1 else word[:-1]
    if word.endswith(("us", "ss")) or not _PLURAL_S.search(word):
        return word
    return word[:-1]


def _remove_participle(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _find_region(word).endswith("eed") else word
    begin = word.removesuffix("ing") if word.endswith("ing") else word.removesuffix("ed")
    if begin == word or not re.search(_VOWEL, begin):
        return word
    if begin.endswith(("at", "bl", "iz")):
        return f"{begin}e"
    if _DOUBLE.search(begin):
        return begin[:-1] if len(begin) > SHORTEST else begin
    is_short = not _find_region(begin) and _SHORT_SYLLABLE.search(begin)
    return f"{begin}e" if is_short else begin


def _remove_end(word: str) -> str:
    if word.endswith("y") and len(word) >= SHORTEST and re.match(_OTHER, word[-2]):
        return f"{word[:-1]}i"
    region = _find_region(word)
    if word.endswith("ee"):
        # Not those of the algorithm: employ and employee, commit and committee.
        return word
    if word.endswith("e"):
        is_removed = _find_region(region) or (region and not _SHORT_SYLLABLE.search(word[:-1]))
        return word[:-1] if is_removed else word
    return word[:-1] if word.endswith("ll") and _find_region(region) else word


def _find_region(word: str) -> str:
    begin = _TO_REGION.match(word)
    return word[begin.end() :] if begin else ""
