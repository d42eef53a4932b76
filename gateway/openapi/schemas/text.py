"""Descriptions as plain text of bounded length, without markup and invisible characters."""

import html
import re
import unicodedata
from functools import lru_cache
from typing import Final

from gateway.openapi.shapes import Json

MAX_DESCRIPTION: Final = 1024
_MAX_READ: Final = 20_000
_PLAIN: Final = re.compile(r"[ !-%'-;=?-~]*")
_BLOCKS: Final = re.compile(
    r"<!--.*?(?:-->|$)|<(script|style)\b.*?(?:</\1\s*>|$)", re.DOTALL | re.IGNORECASE
)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_TAG: Final = re.compile(r"</?[a-zA-Z][^<>]{0,2000}>")


def plain(given: Json, limit: int = MAX_DESCRIPTION) -> str:
    """Returns text without HTML and invisible characters, at most `limit` characters long."""
    if not isinstance(given, str):
        return ""
    return _plain_text(given[:_MAX_READ], limit)


def with_sentence(text: str, sentence: str) -> str:
    """Returns a text followed by a sentence, with a full stop in between where there is none."""
    if not text:
        return sentence
    end = "" if text.endswith((".", "!", "?", ":")) else "."
    return f"{text}{end} {sentence}"


@lru_cache(maxsize=1024)
def _plain_text(text: str, limit: int) -> str:
    """Once for a text: all operations may share a long one."""
    if _PLAIN.fullmatch(text) is None:
        text = html.unescape(_TAG.sub(" ", _BLOCKS.sub(" ", text)))
        text = _CONTROL.sub("", text) if text.isascii() else "".join(filter(_is_visible, text))
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}"


def _is_visible(character: str) -> bool:
    # Tag characters and direction marks hide instructions from the person who reviews a tool.
    return character.isspace() or unicodedata.category(character)[0] != "C"
