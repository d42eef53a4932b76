"""Writes the elements of a web page as Markdown: headings, paragraphs, lists, tables and code."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import urljoin

# lxml.html.HtmlElement, whose methods have no types.
HtmlElement: TypeAlias = Any

# CommonMark 0.31, section 2.4: any ASCII punctuation may be escaped.
PUNCTUATION: Final = re.compile(r"([!-/:-@\[-`{-~])")
UNSAFE: Final = re.compile(r"[<>\s\\]")
HEADING_TAGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
INLINE_TAGS: Final = frozenset(
    {
        *("a", "abbr", "b", "bdi", "bdo", "br", "cite", "code", "data", "del", "dfn", "em", "font"),
        *("i", "img", "input", "ins", "kbd", "label", "mark", "q", "s", "samp", "small", "span"),
        *("strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
    }
)


def write_markdown(element: HtmlElement, url: str) -> str:
    """Returns the blocks of an element as Markdown, with an empty line between two.

    Addresses of links are made absolute with that of the page, which may be empty.
    """
    blocks: list[str] = []
    line = [_escape(element.text)]
    for child in element:
        if _is_inline(child):
            line.append(_write_inline(child, url))
        elif isinstance(child.tag, str):
            blocks += ["".join(line), BLOCK_WRITERS.get(child.tag, write_markdown)(child, url)]
            # Lines of a paragraph are joined; those of blocks have a meaning.
            blocks[-2] = " ".join(blocks[-2].split())
            line = []
        line.append(_escape(child.tail))
    blocks.append(" ".join("".join(line).split()))
    return "\n\n".join(filter(None, blocks))


def join_address(base: str, address: str) -> str:
    """Returns an absolute address, or nothing if the address is none."""
    try:
        return urljoin(base, address)
    except ValueError:
        return ""


def _is_inline(element: HtmlElement) -> bool:
    return element.tag in INLINE_TAGS and all(
        child.tag in INLINE_TAGS
        for child in element.iterdescendants()
        if isinstance(child.tag, str)
    )


def _write_inline(element: HtmlElement, url: str) -> str:
    if element.tag == "br":
        return " "
    if element.tag == "img":
        return _escape(element.get("alt"))
    text = _write_line(element, url)
    return _write_link(element, text, url) if element.tag == "a" else text


def _write_line(element: HtmlElement, url: str) -> str:
    """Returns all text of an element on one line, that of blocks in it too."""
    written = [_escape(element.text)]
    for child in element:
        if isinstance(child.tag, str):
            text = _write_inline(child, url)
            written.append(text if child.tag in INLINE_TAGS else f" {text} ")
        written.append(_escape(child.tail))
    return "".join(written)


def _write_link(element: HtmlElement, text: str, url: str) -> str:
    address, words = (element.get("href") or "").strip(), " ".join(text.split())
    target = "" if address.startswith("#") or not words else join_address(url, address)
    if not address or not target.startswith(("https://", "http://", "mailto:")):
        return text
    return f"[{words}](<{UNSAFE.sub('', target)}>)"


def _write_heading(element: HtmlElement, _url: str) -> str:
    text = " ".join(_write_line(element, "").split())
    return f"{'#' * int(element.tag[1])} {text}" if text else ""


def _write_code(element: HtmlElement, _url: str) -> str:
    text = "".join(element.itertext()).strip("\n")
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}" if text.strip() else ""


def _write_list(element: HtmlElement, url: str) -> str:
    written = []
    for number, item in enumerate((each for each in element if each.tag == "li"), start=1):
        mark = f"{number}. " if element.tag == "ol" else "- "
        text = write_markdown(item, url).replace("\n", "\n" + " " * len(mark))
        if text:
            written.append(mark + text)
    return "\n".join(written)


def _write_definitions(element: HtmlElement, url: str) -> str:
    return "\n\n".join(
        filter(None, (write_markdown(each, url) for each in element.iter("dt", "dd")))
    )


def _write_table(element: HtmlElement, url: str) -> str:
    rows = [
        [" ".join(_write_line(cell, url).split()) for cell in row if cell.tag in {"td", "th"}]
        for row in element.iter("tr")
    ]
    rows = [row for row in rows if any(row)]
    width = max(map(len, rows), default=0)
    if width < 2:  # noqa: PLR2004  a table of one column is a layout
        return "\n\n".join(cell for row in rows for cell in row)
    lines = [f"| {' | '.join(row + [''] * (width - len(row)))} |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


BLOCK_WRITERS: Final[Mapping[str, Callable[[HtmlElement, str], str]]] = {
    **dict.fromkeys(HEADING_TAGS, _write_heading),
    "pre": _write_code,
    "ul": _write_list,
    "ol": _write_list,
    "dl": _write_definitions,
    "table": _write_table,
}


def _escape(text: str | None) -> str:
    return PUNCTUATION.sub(r"\\\1", text or "")
