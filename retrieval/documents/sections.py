"""What is read from a document."""

from dataclasses import dataclass


class Unreadable(Exception):
    """A document has no text that can be read; the message is for the person who added it."""


@dataclass(frozen=True, slots=True)
class Section:
    """The plain text under one heading; the heading may be empty."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A document's own title, which may be empty, and its sections in order."""

    title: str
    sections: tuple[Section, ...]
