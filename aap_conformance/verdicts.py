"""What a check finds: the server does what a sentence says, does not, or gave no occasion to."""

from dataclasses import dataclass
from enum import StrEnum


class Violation(Exception):
    """The server does not do what the sentence says; the message says what it did."""


class NotShown(Exception):
    """The sentence did not apply, or the agent gave no occasion; the message says why."""


class CheckVerdict(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    NOT_SHOWN = "not shown"
    # The sentence asks nothing of a server.
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The verdict of one check, and a sentence that explains it unless it passed."""

    number: str
    page: str
    sentence: str
    verdict: CheckVerdict
    explanation: str = ""


def require(condition: object, explanation: str) -> None:
    """Raises Violation unless the condition holds."""
    if not condition:
        raise Violation(explanation)
