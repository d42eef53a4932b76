"""Searches the documentation, reads a page and lists the pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from django.db import connection

from documentation import fts5, tsearch
from documentation.addresses import localize_addresses
from documentation.markdown import SLUG, PageSection
from documentation.models import DocumentationSection
from documentation.query import DocumentationQuery, Term
from documentation.ranking import (
    NEAR_WORTH,
    MarkedSection,
    Ranked,
    SearchTerm,
    TermMatch,
    rank,
    terms_of,
    weigh_question,
)
from documentation.snippet import snippet
from foundation.db.statements import Statement
from foundation.text.folding import fold
from retrieval.spelling import Vocabulary

# From this share of a question on, a section fits it.
FITS: Final = 0.5
MAX_PREFIX_MATCHES: Final = 12
BEGUN: Final = Statement("""
    SELECT word FROM tools_registry_documentationword
    WHERE word LIKE %s ORDER BY length(word), word LIMIT %s
""")


# Words with the same first letter, of which the longest page has some hundred.
WITH_LETTER: Final = Statement(
    "SELECT word FROM tools_registry_documentationword WHERE word LIKE %s"
)


class FullTextIndex(Protocol):
    """The full-text index of a database."""

    def matches(self, terms: Sequence[Term], /) -> list[TermMatch]: ...
    def mark_matches(self, sections: Sequence[int], term: Term, /) -> dict[int, MarkedSection]: ...
    def refresh(self) -> None: ...


INDEXES: Final[Mapping[str, FullTextIndex]] = {"sqlite": fts5, "postgresql": tsearch}


@dataclass(frozen=True, slots=True)
class DocumentationHit:
    """A matching section; `anchor` is empty for a page's opening.

    `snippet` is one line of plain text with `**` around matches. It may contain `<` and `&`: escape
    it for HTML. `score` is comparable within one list of hits; more is better.
    """

    page: str
    title: str
    heading: str
    anchor: str
    snippet: str
    score: float


@dataclass(frozen=True, slots=True)
class PageContent:
    """A page in its sections."""

    slug: str
    title: str
    sections: tuple[PageSection, ...]

    @property
    def text(self) -> str:
        """The page as Markdown, without links and emphasis, each section under a `##` heading."""
        return "\n\n".join([f"# {self.title}", *map(_format_section, self.sections)]) + "\n"


def full_text_index() -> FullTextIndex:
    """Returns the full-text index of the database in use."""
    return INDEXES[connection.vendor]


@dataclass(frozen=True, slots=True)
class DocumentationAnswer:
    """The sections that best match a question, best first.

    `missing` are the words that no section has, and `fits` says whether a section has half of the
    question.
    """

    hits: Sequence[DocumentationHit] = ()
    missing: tuple[str, ...] = ()
    fits: bool = False


def answer(query: str, limit: int) -> DocumentationAnswer:
    """Returns the sections that best match a question, best first, at most two of a page.

    The question may be any text: there is no syntax, stop words do not count, and the last word may
    be incomplete. Words that no section has are looked for in a similar spelling.
    """
    question = DocumentationQuery.parse(query)
    if not question.words or limit < 1:
        return DocumentationAnswer()
    terms = terms_of(question, _find_completions(question.beginning))
    matches = full_text_index().matches([one.term for one in terms])
    share, missing = weigh_question(question.words, terms, matches)
    if missing:
        near = _list_near(missing)
        found = full_text_index().matches([one.term for one in near]) if near else []
        matches = [*matches, *(replace(one, term=one.term + len(terms)) for one in found)]
        terms = [*terms, *near]
        share, missing = weigh_question(question.words, terms, matches)
    hits = _hits(rank(terms, matches)[:limit], terms)
    return DocumentationAnswer(hits, missing, fits=share >= FITS)


def read(slug: str) -> PageContent | None:
    """Returns a page by its slug with this deployment's addresses, or None if there is none."""
    if not SLUG.fullmatch(slug):
        return None
    rows = list(DocumentationSection.objects.filter(page=slug).order_by("position"))
    sections = (PageSection(row.anchor, row.heading, localize_addresses(row.text)) for row in rows)
    return PageContent(slug, rows[0].page_title, tuple(sections)) if rows else None


def pages() -> list[tuple[str, str]]:
    """Lists every page as (slug, title), by title."""
    rows = DocumentationSection.objects.order_by("page_title", "page")
    return list(rows.values_list("page", "page_title").distinct())


def _find_completions(beginning: str) -> list[str]:
    # Stems cannot be completed: "integrat" is no beginning of "integr", which the index holds.
    if not beginning:
        return []
    return [word for (word,) in BEGUN.rows(f"{beginning}%", MAX_PREFIX_MATCHES)]


def _list_near(words: Sequence[str]) -> list[SearchTerm]:
    """Returns a term for each of the words that others are spelled nearly like."""
    terms = []
    for word in words:
        letter = fold(word)[:1]
        # A letter is no pattern.
        listed = WITH_LETTER.rows(f"{letter}%") if letter.isalpha() else []
        vocabulary = Vocabulary(text for (text,) in listed)
        if near := vocabulary.find_near(fold(word)):
            terms.append(SearchTerm(tuple((one,) for one in near), word, NEAR_WORTH))
    return terms


def _hits(ranked: Sequence[Ranked], terms: Sequence[SearchTerm]) -> list[DocumentationHit]:
    words: Term = tuple(phrase for one in terms if one.word for phrase in one.term)
    ids = [one.section for one in ranked]
    found = full_text_index().mark_matches(ids, words) if ids else {}
    # A section may have been removed since it was ranked.
    return [_hit(found[one.section], one.score) for one in ranked if one.section in found]


def _hit(section: MarkedSection, score: float) -> DocumentationHit:
    return DocumentationHit(
        page=section.page,
        title=section.page_title,
        heading=section.heading,
        anchor=section.anchor,
        snippet=snippet(localize_addresses(section.text)),
        score=score,
    )


def _format_section(section: PageSection) -> str:
    heading = f"## {section.heading}" if section.anchor else ""
    return "\n\n".join(filter(None, [heading, section.text]))
