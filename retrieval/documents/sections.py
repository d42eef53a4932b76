"""What is read from a document."""

import re
from dataclasses import dataclass
from typing import Final

# Search marks its matches with two private characters, and neither database stores every control
# character; pages need neither.
UNSTORABLE: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ue000-\uf8ff]")
# Between the headings above a text, the outermost first.
PATH: Final = " > "


class UnreadableDocument(Exception):
    """A document has no text that can be read; the message is for the person who added it."""


class ExcludedDocument(UnreadableDocument):
    """A document is not to be indexed, or has nothing for an index; the message says why."""


@dataclass(frozen=True, slots=True)
class DocumentSection:
    """The plain text under one heading, with the headings above it; `heading` may be empty."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document's own title, which may be empty, and its sections in order.

    `canonical` is the address that a web page gives as its own, and `modified` the time of its last
    change, both as written; empty if the document says neither.
    """

    title: str
    sections: tuple[DocumentSection, ...]
    canonical: str = ""
    modified: str = ""


def storable(text: str) -> str:
    """Returns a text without what no database stores."""
    return UNSTORABLE.sub("", text)
