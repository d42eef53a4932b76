"""The documentation as its readers meet it: a page's file, and passages that answer a question."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings
from django.urls import reverse
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString

from tools_registry.documentation import search
from tools_registry.documentation.markdown import SLUG

MOST_PASSAGES: Final = 20
LONGEST_QUERY: Final = 200  # characters
MATCH: Final = "**"


@dataclass(frozen=True, slots=True)
class Link:
    """A page in a list of pages."""

    slug: str
    title: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a page that answers; `excerpt` is HTML with `mark` around what was asked for."""

    url: str
    heading: str
    title: str
    excerpt: SafeString


def links() -> Sequence[Link]:
    """Every published page, by title."""
    return [Link(slug, title) for slug, title in search.pages()]


def source(slug: str) -> str | None:
    """The Markdown of a page, or None if the slug names no file directly in the folder."""
    folder: Path = settings.HALO_DOCS_SOURCE
    file = folder / f"{slug}.md"
    # The slug's shape stops paths; the second look stops links that lead out of the folder.
    if not SLUG.fullmatch(slug) or not file.is_file() or file.resolve().parent != folder:
        return None
    return file.read_text(encoding="utf-8-sig")


def asked(text: str) -> str:
    """A question as it is looked up and shown: at most 200 characters, any characters."""
    return text[:LONGEST_QUERY].strip()


def passages(question: str) -> Sequence[Passage]:
    """What the search finds, best first."""
    return [_passage(hit) for hit in search.search(question, limit=MOST_PASSAGES)]


def _passage(hit: search.Hit) -> Passage:
    page = reverse("documentation", args=(hit.page,))
    url = f"{page}#{hit.anchor}" if hit.anchor else page
    return Passage(url, hit.heading, hit.title, _excerpt(hit.snippet))


def _excerpt(snippet: str) -> SafeString:
    # Matches stand between pairs of asterisks: every other piece is one.
    pieces = snippet.split(MATCH)
    return format_html_join(
        "", "{}", ((_piece(piece, place),) for place, piece in enumerate(pieces))
    )


def _piece(text: str, place: int) -> SafeString:
    return format_html("<mark>{}</mark>", text) if place % 2 else conditional_escape(text)
