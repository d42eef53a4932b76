"""What a source is turned into before it is stored."""

from dataclasses import dataclass

from retrieval.interfaces import Passage


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A passage and the address of the document that it is of."""

    url: str
    passage: Passage
