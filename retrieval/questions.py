"""What a question looks for in passages, and how much of it a passage has.

Words are those of `foundation.text.words`, for the index and for the question. A passage has a word
as it was written or in another spelling of it, a word that is derived from the same one, a word
that is spelled nearly so, or a synonym: each counts for less than the one before.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from math import log
from typing import Final

from foundation.text.folding import fold
from foundation.text.words import Form, is_split_by_signs, parse_query
from retrieval import words

# The share of a word that a passage has in another form.
DERIVED: Final = 0.85
NEAR: Final = 0.8
SYNONYM: Final = 0.75
# From this share of a question on, a passage fits it.
FITS: Final = 0.48
# Of a word that does not say what a question is about, such as `work` or `find`.
COMMON_WORTH: Final = 0.5
# The part of the titles in where the words are; the rest is how near they are to each other.
HEADED: Final = 0.8
MAX_TERMS: Final = 24
MAX_OCCURRENCES: Final = 6
# In characters of index words.
NEAR_BY: Final = 40
# A version by its number alone.
VERSION: Final = re.compile(r"v(\d+)")
# What a derived word has after the part that it shares.
MORE: Final = r"[^\s\u00a7]{0,6}"


@dataclass(frozen=True, slots=True)
class QuestionTerm:
    """A word or phrase of a question, as it was typed, and the forms that a passage may have."""

    typed: str
    forms: tuple[Form, ...]
    worth: float = 1.0
    near: tuple[Form, ...] = ()
    # What means the same as this word with the one next to it.
    phrases: tuple[str, ...] = ()

    @property
    def shared_beginning(self) -> str:
        """The beginning that derived words share, or nothing."""
        first = self.forms[0]
        return words.derivation(first[0]) if len(first) == 1 else ""

    @property
    def synonyms(self) -> tuple[str, ...]:
        own = (member for form in self.forms for member in words.synonyms_of(form))
        return tuple(dict.fromkeys((*own, *self.phrases)))

    @property
    def index_forms(self) -> tuple[Form, ...]:
        """The forms that an index is searched for, of the synonyms those of one word."""
        beginning = ((f"{self.shared_beginning}*",),) if self.shared_beginning else ()
        synonyms = ((member,) for member in self.synonyms if " " not in member)
        return (*self.forms, *beginning, *self.near, *synonyms)


@dataclass(frozen=True, slots=True)
class PassageQuestion:
    """The terms of a question, and the words that were not looked for."""

    terms: tuple[QuestionTerm, ...]
    ignored: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "PassageQuestion":
        """Parses a question of any content; one without a word has no terms."""
        query = parse_query(text.replace("\0", " "))
        terms = [
            term
            for forms, typed in zip(query.groups, query.typed, strict=True)
            for term in _split_term(" or ".join(typed), forms)
        ]
        telling = [term for term in terms if not words.is_function_word(fold(term.typed))]
        ignored = (
            [] if telling in ([], terms) else [term.typed for term in terms if term not in telling]
        )
        kept = (telling or terms)[:MAX_TERMS]
        return cls(tuple(_add_phrases(kept)), (*query.ignored, *map(fold, ignored)))

    def with_near(
        self, find: Callable[[str], Sequence[str]], counts: Sequence[int]
    ) -> "PassageQuestion":
        """Returns the question with near spellings of the words that no passage has."""
        terms = (
            replace(term, near=tuple((word,) for word in find(term.forms[0][0])))
            if not count and len(term.forms[0]) == 1
            else term
            for term, count in zip(self.terms, counts, strict=True)
        )
        return replace(self, terms=tuple(terms))


@dataclass(frozen=True, slots=True)
class PassageMatch:
    """How much of a question a passage has, and where: in its titles and near each other.

    Both are from 0 to 1.
    """

    share: float
    placed: float


class QuestionScorer:
    """Compares passages with a question.

    `counts` has for each term how many of the passages have it in any form, of `passages` in all. A
    word that fewer have has more weight; one that none has weighs as much as one that a single
    passage has.
    """

    def __init__(self, question: PassageQuestion, counts: Sequence[int], passages: int) -> None:
        every = max(passages, *counts, 1)
        weights = [
            term.worth * log(1 + every / (max(count, 1) + 0.5))
            for term, count in zip(question.terms, counts, strict=True)
        ]
        total = sum(weights) or 1.0
        # Of each term; all of them add up to 1.
        self.weights: Final = [weight / total for weight in weights]
        self._terms: Final = [_TermPatterns(term) for term in question.terms]

    def match(self, heading: str, text: str) -> PassageMatch:
        """Compares a passage: the index words of its titles, and those of all its texts."""
        places = [each.find(text) for each in self._terms]
        share = headed = 0.0
        for weight, (worth, _), term in zip(self.weights, places, self._terms, strict=True):
            share += weight * worth
            if worth:
                headed += weight * term.find(heading)[0]
        near = _nearness([spots for worth, spots in places if worth])
        return PassageMatch(share, HEADED * headed + (1 - HEADED) * near * share)


class _TermPatterns:
    """The patterns of a term in index words, which have a space before and after each of them."""

    def __init__(self, term: QuestionTerm) -> None:
        self._forms = [_format_form(form) for form in term.forms]
        self._near = [_format_form(form) for form in term.near]
        self._derived = term.shared_beginning and _compile(
            f" {re.escape(term.shared_beginning)}{MORE} "
        )
        self._synonyms = _synonym_pattern(term)

    def find(self, text: str) -> tuple[float, Sequence[int]]:
        """Returns how much a text has of the term, and some of the places."""
        for share, forms in ((1.0, self._forms), (NEAR, self._near)):
            for form in forms:
                if form in text:
                    return share, _list_places(text, form)
        for share, pattern in ((DERIVED, self._derived), (SYNONYM, self._synonyms)):
            if pattern and (found := pattern.search(text)):
                return share, [found.start()]
        return 0.0, ()


def _split_term(typed: str, forms: tuple[Form, ...]) -> list[QuestionTerm]:
    """Returns a term, or one for each two signs of a text that is written without spaces."""
    first = forms[0]
    if len(first) > 1 and any(is_split_by_signs(word) for word in first):
        pairs = [word for word in first if len(word.removesuffix("*")) > 1] or [*first]
        return [QuestionTerm(word, ((word,),)) for word in dict.fromkeys(pairs)]
    if version := VERSION.fullmatch(first[0]):
        forms = (*forms, ("version", version[1]))
    plain = typed.strip('?!.,:;"').lower()
    worth = COMMON_WORTH if len(first) == 1 and words.is_common(plain, first[0]) else 1.0
    return [QuestionTerm(typed.strip('?!.,:;"'), forms, worth)]


def _add_phrases(terms: Sequence[QuestionTerm]) -> list[QuestionTerm]:
    """Returns the terms with the synonyms of each two adjacent ones, such as `money back`."""
    found = list(terms)
    for place, (first, second) in enumerate(pairwise(terms)):
        if phrases := words.synonyms_of((*first.forms[0], *second.forms[0])):
            for at in (place, place + 1):
                found[at] = replace(found[at], phrases=(*found[at].phrases, *phrases), worth=1.0)
    return found


def _format_form(form: Form) -> str:
    return f" {' '.join(form)} ".replace("* ", "")


@lru_cache(maxsize=2_048)
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _synonym_pattern(term: QuestionTerm) -> re.Pattern[str] | None:
    if not term.synonyms:
        return None
    return _compile(" (?:" + "|".join(map(_member_pattern, term.synonyms)) + ") ")


def _member_pattern(member: str) -> str:
    beginning = member.removesuffix("*")
    return re.escape(beginning) + (MORE if beginning != member else "")


def _list_places(text: str, form: str) -> list[int]:
    places: list[int] = []
    place = text.find(form)
    while place >= 0 and len(places) < MAX_OCCURRENCES:
        places.append(place)
        place = text.find(form, place + 1)
    return places


def _nearness(places: Sequence[Sequence[int]]) -> float:
    """Returns 1 if the words are next to each other in the order of the question, less if not."""
    if len(places) <= 1:
        return 1.0 if places else 0.0
    found = (min(abs(b - a) for a in first for b in second) for first, second in pairwise(places))
    return sum(NEAR_BY / (NEAR_BY + distance) for distance in found) / (len(places) - 1)
