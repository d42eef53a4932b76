"""Parses Markdown pages for search and renders them as HTML.

Raw HTML is disabled: text between angle brackets is shown as text.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from posixpath import join, normpath
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from retrieval.documents.plain_text import plain_text, words_of

PARSER: Final = MarkdownIt("js-default", {"html": False, "linkify": False, "typographer": False})
# The slug of a page; its length is that of the column.
SLUG: Final = re.compile(r"[a-z0-9-]{1,120}")
SECTION_TAGS: Final = frozenset({"h1", "h2", "h3"})
# The length of the database's columns, less the space that a counter needs.
MAX_ANCHOR_LENGTH: Final = 190
UNLINKABLE: Final = re.compile(r"[^\w\- ]")
# Pages for staff only are in these folders next to the public pages.
STAFF_FOLDERS: Final = frozenset({"operate", "develop"})
ADDRESS: Final = re.compile(rf"(?:(?:{'|'.join(sorted(STAFF_FOLDERS))})/)?{SLUG.pattern}")
PAGE_LINK: Final = re.compile(r"(?P<path>[a-z0-9./-]+)\.md(?P<anchor>#.*)?")
# The renderer writes these without attributes, and an author's own "<" becomes "&lt;".
REACHABLE: Final = {
    "<table>": '<div class="wide" tabindex="0"><table>',
    "</table>": "</table></div>",
    "<pre>": '<pre tabindex="0">',
}
ALIGNED: Final = re.compile(r"text-align:(?P<side>left|center|right)")


@dataclass(frozen=True, slots=True)
class PageSection:
    """The plain text under one heading; the opening of the page has an empty anchor."""

    anchor: str
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class DocumentationPage:
    """A page of the documentation with at least one section; `source` is its Markdown."""

    slug: str
    title: str
    sections: tuple[PageSection, ...]
    source: str


def read_page(slug: str, source: str) -> DocumentationPage:
    """Parses a page: its title, its opening, and a section for each `##` and `###` heading.

    The title is the first `#` heading, or made from the slug if there is none; a later `#` heading
    opens a section like any other. Text before the first heading belongs to a section named after
    the title. Anchors are those of `render_html`. Raises nothing: every text is Markdown
    (CommonMark 0.31, section 2.1).
    """
    blocks = SyntaxTreeNode(_parse(source)).children
    title = next((block for block in blocks if block.tag == "h1"), None)
    name = (words_of(title) if title else "") or slug.replace("-", " ").capitalize()
    sections = _sections([block for block in blocks if block is not title], name)
    return DocumentationPage(slug, name, sections, source)


def render_html(source: str, folder: str = "") -> str:
    """Renders a page as HTML without the author's own markup, scripts or styles.

    Headings have the anchors of `read_page` as ids. `other-page.md#part` becomes a link to
    `/docs/other-page#part`, relative to the page's `folder` (empty for public pages). Aligned table
    cells have the class `align-left`, `align-center` or `align-right`, because the content security
    policy blocks style attributes. Tables and code, which may be wider than a screen, can be
    focused and scrolled by keyboard (WCAG 2.2, 2.1.1).
    """
    tokens = _parse(source)
    for token in tokens:
        _name_alignment(token)
        for child in token.children or ():
            _point_at_pages(child, folder)
    html = str(PARSER.renderer.render(tokens, PARSER.options, {}))
    for tag, reachable in REACHABLE.items():
        html = html.replace(tag, reachable)
    return html


def _parse(source: str) -> list[Token]:
    tokens = PARSER.parse(source)
    taken: dict[str, int] = {}
    for opening, inline in _headings(tokens):
        opening.attrSet("id", _free_anchor(_make_anchor(inline), taken))
    return tokens


def _headings(tokens: Sequence[Token]) -> Iterable[tuple[Token, Token]]:
    return (pair for pair in pairwise(tokens) if pair[0].type == "heading_open")


def _make_anchor(inline: Token) -> str:
    # As GitHub names headings: characters other than letters, digits, hyphens and underscores are
    # removed, spaces become hyphens. A heading of emoji alone would have no name.
    text = words_of(SyntaxTreeNode([inline])).strip().lower()
    return UNLINKABLE.sub("", text).replace(" ", "-")[:MAX_ANCHOR_LENGTH] or "section"


def _free_anchor(name: str, taken: dict[str, int]) -> str:
    anchor = name
    while anchor in taken:
        taken[name] += 1
        anchor = f"{name}-{taken[name]}"
    taken[anchor] = 0
    return anchor


def _sections(blocks: Sequence[SyntaxTreeNode], title: str) -> tuple[PageSection, ...]:
    starts = [place for place, block in enumerate(blocks) if block.tag in SECTION_TAGS]
    opening = PageSection("", title, plain_text(blocks[: starts[0]] if starts else blocks))
    headed = tuple(
        _section(blocks[start], blocks[start + 1 : end])
        for start, end in zip(starts, [*starts[1:], len(blocks)], strict=False)
    )
    return (opening, *headed) if opening.text or not headed else headed


def _section(heading: SyntaxTreeNode, blocks: Sequence[SyntaxTreeNode]) -> PageSection:
    return PageSection(str(heading.attrs["id"]), words_of(heading), plain_text(blocks))


def _point_at_pages(token: Token, folder: str) -> None:
    link = PAGE_LINK.fullmatch(str(token.attrGet("href") or ""))
    address = normpath(join(folder, link["path"])) if link else ""
    if link and ADDRESS.fullmatch(address):
        token.attrSet("href", f"/docs/{address}{link['anchor'] or ''}")


def _name_alignment(token: Token) -> None:
    alignment = ALIGNED.search(str(token.attrs.pop("style", "")))
    if alignment:
        token.attrJoin("class", f"align-{alignment['side']}")
