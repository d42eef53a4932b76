"""Reports of an examination: JSON for programs, lines for people."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from aap_conformance.verdicts import CheckResult, CheckVerdict

SHOWN: Final = {
    CheckVerdict.PASSED: "ok",
    CheckVerdict.FAILED: "FAILED",
    CheckVerdict.NOT_SHOWN: "not shown",
    CheckVerdict.NOTE: "note",
}
WIDTH: Final = 100
INDENT: Final = " " * 18


def as_json(url: str, agent: str, results: Sequence[CheckResult]) -> dict[str, Any]:
    return {
        "url": url,
        "agent": agent,
        "version": 1,
        "counts": {verdict: count for verdict, count in _counts(results).items() if count},
        "checks": [
            {
                "number": one.number,
                "page": one.page,
                "sentence": one.sentence,
                "verdict": one.verdict,
                **({"explanation": one.explanation} if one.explanation else {}),
            }
            for one in results
        ],
    }


def as_lines(results: Sequence[CheckResult]) -> Iterator[str]:
    page = ""
    for one in results:
        if one.page != page:
            page = one.page
            yield f"\n{page}"
        yield _wrap_line(f"{one.number:>6} {SHOWN[one.verdict]:<9} {one.sentence}")
        if one.explanation:
            yield _wrap_line(f"{INDENT}-> {one.explanation}")
    counts = _counts(results)
    yield "\n" + ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)


def _counts(results: Sequence[CheckResult]) -> dict[CheckVerdict, int]:
    counted = Counter(one.verdict for one in results)
    return {verdict: counted[verdict] for verdict in CheckVerdict}


def _wrap_line(line: str) -> str:
    return textwrap.fill(line, WIDTH, subsequent_indent=INDENT, break_long_words=False)
