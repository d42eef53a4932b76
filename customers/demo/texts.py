"""The texts of the demo data, read from the JSON files next to this module."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final, TypeVar

T = TypeVar("T")

FOLDER: Final = Path(__file__).parent
MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


class Dice(Random):
    """Random numbers that are the same for the same seed on every version of Python."""

    def pick(self, values: Sequence[T]) -> T:
        return values[int(self.random() * len(values))]

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def pick_number(self, first: int, last: int) -> int:
        return first + int(self.random() * (last - first + 1))


@dataclass(frozen=True, slots=True)
class Topic:
    """One thing that customers write about: texts with names in braces, by kind.

    `name` is its area, such as `billing`. Questions are asked in a chat, openings by mail.
    """

    name: str
    inbox: str
    pages: Sequence[str]
    subjects: Sequence[str]
    questions: Sequence[str]
    openings: Sequence[str]
    answers: Sequence[str]
    followups: Sequence[str]
    resolutions: Sequence[str]


@cache
def read(name: str) -> Any:
    """Returns the content of `texts/<name>.json`."""
    return json.loads((FOLDER / "texts" / f"{name}.json").read_text(encoding="utf-8"))


@cache
def topics() -> Sequence[Topic]:
    """Returns every topic as often as its weight, to pick one from."""
    return [
        Topic(name=name, inbox=area["inbox"], pages=area["pages"], **case)
        for name, area in read("topics").items()
        for case in area["cases"]
        for _ in range(area["weight"])
    ]


def phrases(kind: str) -> Sequence[str]:
    """Returns the sentences of a kind that fit every topic, such as `greetings`."""
    found: Sequence[str] = read("phrases")[kind]
    return found


@cache
def unknown_topics() -> Sequence[Topic]:
    """Returns what customers ask again and again and the AI agent cannot answer."""
    return [
        Topic(
            name="feature_request",
            inbox="Support",
            pages=[cluster["page"]],
            subjects=cluster["questions"],
            questions=cluster["questions"],
            openings=cluster["questions"],
            answers=cluster["answers"],
            followups=phrases("unknown_followups"),
            resolutions=phrases("unknown_resolutions"),
        )
        for cluster in read("phrases")["clusters"]
    ]


@cache
def incidents() -> Sequence[Topic]:
    """Returns what customers write in the two incidents: slow boards, and no sign-in."""
    return [
        Topic(
            name="incident",
            inbox="Support",
            pages=["/boards"],
            questions=incident["openings"],
            followups=incident["openings"],
            **incident,
        )
        for incident in read("phrases")["incidents"]
    ]


def documents() -> list[Path]:
    """Returns the Markdown files of the knowledge base, in order."""
    return sorted((FOLDER / "knowledge").glob("*.md"))


def details(dice: Dice) -> dict[str, Any]:
    """Returns values for the names in the texts: numbers, a month, a board, a colleague."""
    seats = dice.pick_number(8, 60)
    names = read("names")
    return {
        "n": seats,
        "m": seats - dice.pick_number(1, 5),
        "k": dice.pick_number(2, 6),
        "d": dice.pick_number(1000, 9999),
        "day": dice.pick_number(4, 20),
        "hour": dice.pick_number(9, 17),
        "month": dice.pick(MONTHS),
        "amount": f"{dice.pick_number(3, 90) * 12} EUR",
        "board": dice.pick(read("phrases")["boards"]),
        "colleague": dice.pick(names["first"]),
        "plan": dice.pick(("Starter", "Pro", "Enterprise")),
    }
