"""Markdown pages, read for search and rendered for people.

Raw HTML is disabled throughout: what a page says between angle brackets is text.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from tools_registry.documentation.plain_text import plain_text, words_of

PARSER: Final = MarkdownIt("js-default", {"html": False, "linkify": False, "typographer": False})
# Names a page in addresses; its length is the column's.
SLUG: Final = re.compile(r"[a-z0-9-]{1,120}")
SECTION_TAGS: Final = frozenset({"h1", "h2", "h3"})
# What the database's columns hold, less the room that a counter needs.
LONGEST_ANCHOR: Final = 190
UNLINKABLE: Final = re.compile(r"[^\w\- ]")
SIBLING: Final = re.compile(r"(?:\./)?(?P<slug>[a-z0-9-]+)\.md(?P<anchor>#.*)?")
# The renderer writes these without attributes, and an author's own "<" arrives as "&lt;".
REACHABLE: Final = {
    "<table>": '<div class="wide" tabindex="0"><table>',
    "</table>": "</table></div>",
    "<pre>": '<pre tabindex="0">',
}
ALIGNED: Final = re.compile(r"text-align:(?P<side>left|center|right)")


@dataclass(frozen=True, slots=True)
class Section:
    """What stands under one heading, as plain text; the page's opening has an empty anchor."""

    anchor: str
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the documentation with at least one section; `source` is its Markdown."""

    slug: str
    title: str
    sections: tuple[Section, ...]
    source: str


def read_page(slug: str, source: str) -> Page:
    """Read a page: its title, its opening, and a section for each `##` and `###` heading.

    The title is the first `#` heading, or made from the slug where there is none; a later `#`
    heading opens a section like any other. Text before the first heading belongs to a section
    named after the title. Anchors are those of `render_html`. Raises nothing: every text is
    Markdown (CommonMark 0.31, section 2.1).
    """
    blocks = SyntaxTreeNode(_parse(source)).children
    title = next((block for block in blocks if block.tag == "h1"), None)
    name = (words_of(title) if title else "") or slug.replace("-", " ").capitalize()
    sections = _sections([block for block in blocks if block is not title], name)
    return Page(slug, name, sections, source)


def render_html(source: str) -> str:
    """Render a page as HTML that holds no markup of the author's own, no script and no style.

    Headings carry the anchors of `read_page` as ids; `other-page.md#part` links to
    `/docs/other-page#part`; aligned table cells carry the class `align-left`, `align-center` or
    `align-right`, for the content security policy stops style attributes. Tables and code, which
    may be wider than a screen, can be reached and scrolled by keyboard (WCAG 2.2, 2.1.1).
    """
    tokens = _parse(source)
    for token in tokens:
        _name_alignment(token)
        for child in token.children or ():
            _point_at_pages(child)
    html = str(PARSER.renderer.render(tokens, PARSER.options, {}))
    for tag, reachable in REACHABLE.items():
        html = html.replace(tag, reachable)
    return html


def _parse(source: str) -> list[Token]:
    tokens = PARSER.parse(source)
    taken: dict[str, int] = {}
    for opening, inline in _headings(tokens):
        opening.attrSet("id", _free_anchor(_slugified(inline), taken))
    return tokens


def _headings(tokens: Sequence[Token]) -> Iterable[tuple[Token, Token]]:
    return (pair for pair in pairwise(tokens) if pair[0].type == "heading_open")


def _slugified(inline: Token) -> str:
    # As GitHub names headings: what is no letter, digit, hyphen or underscore goes, spaces become
    # hyphens. A heading of emoji alone would be left without a name.
    text = words_of(SyntaxTreeNode([inline])).strip().lower()
    return UNLINKABLE.sub("", text).replace(" ", "-")[:LONGEST_ANCHOR] or "section"


def _free_anchor(name: str, taken: dict[str, int]) -> str:
    anchor = name
    while anchor in taken:
        taken[name] += 1
        anchor = f"{name}-{taken[name]}"
    taken[anchor] = 0
    return anchor


def _sections(blocks: Sequence[SyntaxTreeNode], title: str) -> tuple[Section, ...]:
    starts = [place for place, block in enumerate(blocks) if block.tag in SECTION_TAGS]
    opening = Section("", title, plain_text(blocks[: starts[0]] if starts else blocks))
    headed = tuple(
        _section(blocks[start], blocks[start + 1 : end])
        for start, end in zip(starts, [*starts[1:], len(blocks)], strict=False)
    )
    return (opening, *headed) if opening.text or not headed else headed


def _section(heading: SyntaxTreeNode, blocks: Sequence[SyntaxTreeNode]) -> Section:
    return Section(str(heading.attrs["id"]), words_of(heading), plain_text(blocks))


def _point_at_pages(token: Token) -> None:
    target = SIBLING.fullmatch(str(token.attrGet("href") or ""))
    if target:
        token.attrSet("href", f"/docs/{target['slug']}{target['anchor'] or ''}")


def _name_alignment(token: Token) -> None:
    alignment = ALIGNED.search(str(token.attrs.pop("style", "")))
    if alignment:
        token.attrJoin("class", f"align-{alignment['side']}")
