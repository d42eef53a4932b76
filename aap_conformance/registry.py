"""The numbered checks, each with the sentence that it is about."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from aap_conformance.observations import Observations
from aap_conformance.verdicts import CheckResult, CheckVerdict, NotShown, Violation

Look: TypeAlias = Callable[[Observations], None]


@dataclass(frozen=True, slots=True)
class Check:
    """One sentence of a page, and how to see whether a server does what it says.

    `look` raises Violation or NotShown. Without it, the sentence allows or explains something.
    """

    number: str
    page: str
    sentence: str
    look: Look | None

    def place(self) -> list[int]:
        return [int(part) for part in self.number.split(".")]

    def run(self, observed: Observations) -> CheckResult:
        verdict, explanation = CheckVerdict.PASSED, ""
        if self.look is None:
            verdict = CheckVerdict.NOTE
        else:
            try:
                self.look(observed)
            except Violation as violation:
                verdict, explanation = CheckVerdict.FAILED, str(violation)
            except NotShown as reason:
                verdict, explanation = CheckVerdict.NOT_SHOWN, str(reason)
            except Exception as error:  # noqa: BLE001  an odd answer must not end the examination
                verdict, explanation = (
                    CheckVerdict.FAILED,
                    f"Unreadable: {type(error).__name__}: {error}.",
                )
        return CheckResult(self.number, self.page, self.sentence, verdict, explanation)


DECLARED: Final[list[Check]] = []


class CheckPage:
    """Declares the checks of one page: `@page.check("1.1", "...")`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def check(self, number: str, sentence: str) -> Callable[[Look], Look]:
        def declare(look: Look) -> Look:
            DECLARED.append(Check(number, self._name, sentence, look))
            return look

        return declare

    def note(self, number: str, sentence: str) -> None:
        """Declares a sentence that asks nothing of a server."""
        DECLARED.append(Check(number, self._name, sentence, None))
