"""Questions to the knowledge base: the place of the passage that answers each of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent
DOCUMENTS: Final = FOLDER / "knowledge"
SITE: Final = "https://tern.example/"
DEPTH: Final = 5
NOTHING: Final = "-"


@dataclass(frozen=True)
class AnswerGoals:
    """The least shares of right answers: as the first hit, among five, and that nothing fits."""

    first: float
    among_five: float
    nothing: float


GOALS: Final = AnswerGoals(first=0.8, among_five=0.95, nothing=0.9)


@dataclass(frozen=True)
class KnowledgeQuestion:
    """A question, the document that answers it, and a text that the right passage has."""

    text: str
    document: str
    needle: str

    @property
    def has_answer(self) -> bool:
        return self.document != NOTHING

    def place(self, hits: Sequence[Any]) -> int:
        """Returns the place of the right passage among hits, from 1; 0 if it is not there."""
        for place, hit in enumerate(hits, start=1):
            is_document = hit.url == f"{SITE}{self.document}"
            if is_document and self.needle in f"{hit.heading}\n{hit.text}":
                return place
        return 0


@dataclass(frozen=True)
class AnswerFigures:
    """The places of the answers, and how many of the questions without one found nothing."""

    places: Sequence[int]
    nothing: Sequence[bool]
    missed: Sequence[str]

    def share_within(self, place: int) -> float:
        return sum(1 for each in self.places if 1 <= each <= place) / len(self.places)

    @property
    def nothing_share(self) -> float:
        return sum(self.nothing) / len(self.nothing)

    @property
    def meets_goals(self) -> bool:
        return (
            self.share_within(1) >= GOALS.first
            and self.share_within(DEPTH) >= GOALS.among_five
            and self.nothing_share >= GOALS.nothing
        )


def read_questions() -> list[KnowledgeQuestion]:
    lines = (FOLDER / "knowledge.tsv").read_text(encoding="utf-8").splitlines()
    return [KnowledgeQuestion(*line.split("\t")) for line in lines]


def index_documents(organization: Any) -> None:
    """Makes the documents the knowledge base of an organization."""
    import knowledge  # noqa: PLC0415  settings first

    for path in sorted(DOCUMENTS.iterdir()):
        source = knowledge.add(
            organization,
            kind=knowledge.sources.kind_of(path.name),
            url=f"{SITE}{path.stem}",
            original=path.read_bytes(),
        )
        knowledge.index(source.pk)


def measure(search: Callable[[str], Sequence[Any]]) -> AnswerFigures:
    """Returns the figures of a search, which returns hits for a question."""
    places, nothing, missed = [], [], []
    for question in read_questions():
        hits = search(question.text)[:DEPTH]
        if question.has_answer:
            places.append(question.place(hits))
            is_right = places[-1] == 1
        else:
            nothing.append(not hits)
            is_right = not hits
        if not is_right:
            missed.append(question.text)
    return AnswerFigures(places, nothing, missed)
