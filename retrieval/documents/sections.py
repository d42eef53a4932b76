"""What is read from a document."""

from dataclasses import dataclass


class UnreadableDocument(Exception):
    """A document has no text that can be read; the message is for the person who added it."""


@dataclass(frozen=True, slots=True)
class DocumentSection:
    """The plain text under one heading; the heading may be empty."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document's own title, which may be empty, and its sections in order."""

    title: str
    sections: tuple[DocumentSection, ...]
