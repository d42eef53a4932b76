"""Converts Markdown blocks to plain text that is still valid Markdown.

Emphasis and fences are removed; words, code and absolute addresses of links are kept. Code is
indented by four spaces, which marks it as code for Markdown parsers (CommonMark 0.31, section 4.4),
so that a shell comment never becomes a heading.
"""

from collections.abc import Callable, Iterable
from textwrap import indent
from typing import Final

from markdown_it.tree import SyntaxTreeNode

from retrieval.documents.sections import storable

CODE_INDENT: Final = "    "
# Of links that mean something outside the document.
ADDRESSES: Final = ("https://", "http://", "mailto:")


def plain_text(blocks: Iterable[SyntaxTreeNode]) -> str:
    """Returns the text of blocks, with one empty line between two."""
    return "\n\n".join(filter(None, map(_block, blocks)))


def words_of(node: SyntaxTreeNode) -> str:
    """Returns the words of a heading, paragraph, cell or link on one line."""
    return storable(" ".join(_inline(node).split()))


def _words_and_addresses(node: SyntaxTreeNode) -> str:
    return storable(" ".join(_inline(node, with_addresses=True).split()))


def _block(node: SyntaxTreeNode) -> str:
    return BLOCKS.get(node.type, _container)(node)


def _container(node: SyntaxTreeNode) -> str:
    return plain_text(node.children)


def _paragraph(node: SyntaxTreeNode) -> str:
    lines = storable(_inline(node, with_addresses=True)).splitlines()
    return "\n".join(" ".join(line.split()) for line in lines)


def _code(node: SyntaxTreeNode) -> str:
    return indent(storable(node.content).rstrip(), CODE_INDENT)


def _bullets(node: SyntaxTreeNode) -> str:
    return "\n".join(_item("-", item) for item in node.children)


def _numbers(node: SyntaxTreeNode) -> str:
    first = int(node.attrs.get("start", 1))
    return "\n".join(_item(f"{number}.", item) for number, item in enumerate(node.children, first))


def _item(bullet: str, node: SyntaxTreeNode) -> str:
    # A tight list is one block of text, without empty lines between its paragraphs and inner lists.
    text = "\n".join(filter(None, map(_block, node.children)))
    return f"{bullet} {indent(text, ' ' * (len(bullet) + 1)).lstrip()}"


def _table(node: SyntaxTreeNode) -> str:
    rows = (row for part in node.children for row in part.children)
    return "\n".join(" | ".join(map(_words_and_addresses, row.children)) for row in rows)


def _inline(node: SyntaxTreeNode, *, with_addresses: bool = False) -> str:
    if node.type in BREAKS:
        return BREAKS[node.type]
    if node.type in {"text", "code_inline"}:
        return node.content
    text = "".join(_inline(child, with_addresses=with_addresses) for child in node.children)
    if node.type == "link" and with_addresses:
        return _with_address(text, str(node.attrs.get("href", "")))
    return text


def _with_address(text: str, address: str) -> str:
    """Returns the words of a link and its address, unless that is relative or in the words."""
    shown = address.removeprefix("mailto:")
    if not address.startswith(ADDRESSES) or shown.strip("/") in text:
        return text
    return f"{text} ({shown})"


BREAKS: Final = {"softbreak": " ", "hardbreak": "\n"}
BLOCKS: Final[dict[str, Callable[[SyntaxTreeNode], str]]] = {
    "paragraph": _paragraph,
    "heading": words_of,
    "fence": _code,
    "code_block": _code,
    "bullet_list": _bullets,
    "ordered_list": _numbers,
    "table": _table,
}
