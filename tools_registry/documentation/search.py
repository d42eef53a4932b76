"""Questions to the documentation: search it, read a page, list the pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db import connection

from tools_registry.documentation import fulltext
from tools_registry.documentation.markdown import SLUG, Section
from tools_registry.documentation.query import Query, Term
from tools_registry.documentation.ranking import Asked, Ranked, rank, terms_of
from tools_registry.documentation.snippet import snippet
from tools_registry.models import DocumentationSection

MOST_BEGUN: Final = 12
BEGUN: Final = """
    SELECT word FROM tools_registry_documentationword
    WHERE word LIKE %s ORDER BY length(word), word LIMIT %s
"""


@dataclass(frozen=True, slots=True)
class Hit:
    """A section that answers; `anchor` is empty for a page's opening.

    `snippet` is one line of plain text with `**` around matches. It may show `<` and `&` as the
    page does: escape it for HTML. `score` compares within one list of hits, more is better.
    """

    page: str
    title: str
    heading: str
    anchor: str
    snippet: str
    score: float


@dataclass(frozen=True, slots=True)
class Reading:
    """A page to read, in its sections."""

    slug: str
    title: str
    sections: tuple[Section, ...]

    @property
    def text(self) -> str:
        """The page as Markdown, without links and emphasis, each section under a `##` heading."""
        return "\n\n".join([f"# {self.title}", *map(_written, self.sections)]) + "\n"


def search(query: str, limit: int) -> list[Hit]:
    """Find the sections that best answer a question, best first, at most two of a page.

    The question may be any text: there is no syntax, stop words do not count, and the last word
    may be unfinished. Nothing known in it, or a limit below 1, finds nothing.
    """
    question = Query.parse(query)
    if not question.words or limit < 1:
        return []
    asked = terms_of(question, _begun_with(question.beginning))
    matches = fulltext.here().matches([one.term for one in asked])
    return _hits(rank(asked, matches)[:limit], asked)


def read(slug: str) -> Reading | None:
    """Give a page by its slug, or None if there is no such page."""
    if not SLUG.fullmatch(slug):
        return None
    rows = DocumentationSection.objects.filter(page=slug).order_by("position")
    found = list(rows.values_list("page_title", "anchor", "heading", "text"))
    return Reading(slug, found[0][0], tuple(Section(*row[1:]) for row in found)) if found else None


def pages() -> list[tuple[str, str]]:
    """List every page as (slug, title), by title."""
    rows = DocumentationSection.objects.order_by("page_title", "page")
    return list(rows.values_list("page", "page_title").distinct())


def _begun_with(beginning: str) -> list[str]:
    # Stems cannot be completed: "integrat" is no beginning of "integr", which the index holds.
    if not beginning:
        return []
    with connection.cursor() as cursor:
        cursor.execute(BEGUN, [f"{beginning}%", MOST_BEGUN])
        return [word for (word,) in cursor.fetchall()]


def _hits(ranked: Sequence[Ranked], asked: Sequence[Asked]) -> list[Hit]:
    sections = DocumentationSection.objects.in_bulk([one.section for one in ranked])
    words: Term = tuple(phrase for one in asked if one.word for phrase in one.term)
    texts = fulltext.here().marked(list(sections), words) if sections else {}
    # A section may have gone since it was ranked.
    return [_hit(sections[one.section], texts, one) for one in ranked if one.section in texts]


def _hit(section: DocumentationSection, texts: dict[int, str], ranked: Ranked) -> Hit:
    return Hit(
        page=section.page,
        title=section.page_title,
        heading=section.heading,
        anchor=section.anchor,
        snippet=snippet(texts[section.pk]),
        score=ranked.score,
    )


def _written(section: Section) -> str:
    heading = f"## {section.heading}" if section.anchor else ""
    return "\n\n".join(filter(None, [heading, section.text]))
