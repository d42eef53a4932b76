"""Converts Markdown blocks to plain text that is still valid Markdown.

Emphasis, links and fences are removed, words and code are kept. Code is indented by four spaces,
which marks it as code for Markdown parsers (CommonMark 0.31, section 4.4), so that a shell comment
never becomes a heading.
"""

import re
from collections.abc import Callable, Iterable
from textwrap import indent
from typing import Final

from markdown_it.tree import SyntaxTreeNode

CODE_INDENT: Final = "    "
# Search marks its matches with two private characters, and neither database stores every control
# character; pages need neither.
UNSTORABLE: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ue000-\uf8ff]")


def plain_text(blocks: Iterable[SyntaxTreeNode]) -> str:
    """Returns the text of blocks, with one empty line between two."""
    return "\n\n".join(filter(None, map(_block, blocks)))


def words_of(node: SyntaxTreeNode) -> str:
    """Returns the words of a heading, paragraph, cell or link on one line."""
    return storable(" ".join(_inline(node).split()))


def storable(text: str) -> str:
    return UNSTORABLE.sub("", text)


def _block(node: SyntaxTreeNode) -> str:
    return BLOCKS.get(node.type, _container)(node)


def _container(node: SyntaxTreeNode) -> str:
    return plain_text(node.children)


def _paragraph(node: SyntaxTreeNode) -> str:
    lines = storable(_inline(node)).splitlines()
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
    return "\n".join(" | ".join(map(words_of, row.children)) for row in rows)


def _inline(node: SyntaxTreeNode) -> str:
    if node.type in BREAKS:
        return BREAKS[node.type]
    if node.type in {"text", "code_inline"}:
        return node.content
    return "".join(map(_inline, node.children))


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
