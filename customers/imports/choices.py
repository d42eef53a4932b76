"""What a person chose about a file, what is guessed without a choice, and what has to be asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

# The choices about the whole file, by the option of `import_data` that makes each.
OPTIONS: Final[Mapping[str, str]] = {
    "encoding": "--encoding",
    "delimiter": "--delimiter",
    "number": "--number-format",
    "date": "--date-format",
    "zone": "--time-zone",
}
# Before the header in the name of a guess about a column.
COLUMN: Final = "column:"


@dataclass(frozen=True, slots=True)
class Choices:
    """What was chosen for one file; an empty text, or a header that is missing, is guessed.

    `columns` has the column for each header; an empty text leaves the header out.
    """

    encoding: str = ""
    delimiter: str = ""
    number: str = ""
    date: str = ""
    zone: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    leaves_out_others: bool = False

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Choices":
        return cls(**stored)

    @classmethod
    def from_guesses(cls, guesses: "Sequence[Guess]") -> "Choices":
        """Returns what was guessed as choices, so that it stays as a person has seen it."""
        whole: dict[str, Any] = {
            guess.name: guess.value for guess in guesses if guess.name in OPTIONS
        }
        columns = {each.header: each.value for each in guesses if each.name not in OPTIONS}
        return cls(**whole, columns=columns)

    def as_json(self) -> dict[str, Any]:
        whole = {name: getattr(self, name) for name in OPTIONS}
        others = {"leaves_out_others": True} if self.leaves_out_others else {}
        return {**whole, "columns": {**self.columns}, **others}


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """One thing about a file: what it is read as, and what else it can be.

    `value` is chosen or guessed, empty if only a person knows. `examples` are cells. A guess that
    is not certain is a question.
    """

    name: str
    label: str
    value: str
    is_certain: bool
    options: Sequence[tuple[str, str]] = ()
    examples: Sequence[str] = ()
    reason: str = ""

    @property
    def header(self) -> str:
        """Returns the header of a guess about a column."""
        return self.name.removeprefix(COLUMN)

    @property
    def display_value(self) -> str:
        return dict(self.options).get(self.value, self.value)

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "label": self.label,
            "value": self.value,
            "is_certain": self.is_certain,
            "options": [list(option) for option in self.options],
            "examples": list(self.examples),
            "reason": self.reason,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Guess":
        return cls(**{**stored, "options": tuple((a, b) for a, b in stored["options"])})
