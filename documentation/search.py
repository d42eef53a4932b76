"""Searches the documentation, reads a page and lists the pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from documentation import fulltext
from documentation.addresses import localized
from documentation.markdown import SLUG, Section
from documentation.models import DocumentationSection
from documentation.query import Query, Term
from documentation.ranking import MarkedSection, Ranked, SearchTerm, rank, terms_of
from documentation.snippet import snippet
from foundation.db.statements import Statement

MAX_PREFIX_MATCHES: Final = 12
BEGUN: Final = Statement("""
    SELECT word FROM tools_registry_documentationword
    WHERE word LIKE %s ORDER BY length(word), word LIMIT %s
""")


@dataclass(frozen=True, slots=True)
class Hit:
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
class Reading:
    """A page in its sections."""

    slug: str
    title: str
    sections: tuple[Section, ...]

    @property
    def text(self) -> str:
        """The page as Markdown, without links and emphasis, each section under a `##` heading."""
        return "\n\n".join([f"# {self.title}", *map(_written, self.sections)]) + "\n"


def search(query: str, limit: int) -> list[Hit]:
    """Returns the sections that best match a question, best first, at most two of a page.

    The question may be any text: there is no syntax, stop words do not count, and the last word may
    be incomplete. Returns nothing for unknown words only, or a limit below 1.
    """
    question = Query.parse(query)
    if not question.words or limit < 1:
        return []
    terms = terms_of(question, _begun_with(question.beginning))
    matches = fulltext.here().matches([one.term for one in terms])
    return _hits(rank(terms, matches)[:limit], terms)


def read(slug: str) -> Reading | None:
    """Returns a page by its slug with this deployment's addresses, or None if there is none."""
    if not SLUG.fullmatch(slug):
        return None
    rows = list(DocumentationSection.objects.filter(page=slug).order_by("position"))
    sections = (Section(row.anchor, row.heading, localized(row.text)) for row in rows)
    return Reading(slug, rows[0].page_title, tuple(sections)) if rows else None


def pages() -> list[tuple[str, str]]:
    """Lists every page as (slug, title), by title."""
    rows = DocumentationSection.objects.order_by("page_title", "page")
    return list(rows.values_list("page", "page_title").distinct())


def _begun_with(beginning: str) -> list[str]:
    # Stems cannot be completed: "integrat" is no beginning of "integr", which the index holds.
    if not beginning:
        return []
    return [word for (word,) in BEGUN.rows(f"{beginning}%", MAX_PREFIX_MATCHES)]


def _hits(ranked: Sequence[Ranked], terms: Sequence[SearchTerm]) -> list[Hit]:
    words: Term = tuple(phrase for one in terms if one.word for phrase in one.term)
    ids = [one.section for one in ranked]
    found = fulltext.here().marked(ids, words) if ids else {}
    # A section may have been removed since it was ranked.
    return [_hit(found[one.section], one.score) for one in ranked if one.section in found]


def _hit(section: MarkedSection, score: float) -> Hit:
    return Hit(
        page=section.page,
        title=section.page_title,
        heading=section.heading,
        anchor=section.anchor,
        snippet=snippet(localized(section.text)),
        score=score,
    )


def _written(section: Section) -> str:
    heading = f"## {section.heading}" if section.anchor else ""
    return "\n\n".join(filter(None, [heading, section.text]))
