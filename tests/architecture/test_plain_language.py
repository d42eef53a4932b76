"""Words that this project does not use, and what to write instead."""

import re
from functools import cache
from typing import Final

import pytest

from tests.architecture import sources

# A word in lower case is found in any case; one with a capital letter exactly as written; one that
# ends in `_` as the beginning of a name. An underscore and a digit end a word.
USE_INSTEAD: Final = {
    "Asked": "a noun",
    "Board": "Page",
    "Carrier": "Transport",
    "Doomed": "what it is",
    "Ear": "Subscription",
    "FileLine": "connection",
    "Flights": "SingleFlight",
    "Ground": "Backend",
    "Interest": "CancelState",
    "LONGEST_": "MAX_..._LENGTH",
    "MOST_": "MAX_",
    "RedisLine": "connection",
    "StandIn": "Fake",
    "Standing": "State, Status",
    "Teller": "Encoder",
    "Underway": "InFlightCall",
    "Unspeakable": "UnsupportedAtRevision",
    "Waiter": "Continuation",
    "_hire": "_start_worker",
    "_let_go": "release, close",
    "_put_down": "execute, store",
    "anew": "again",
    "believe": "trust, accept",
    "believed": "trusted, accepted",
    "beside": "next to",
    "by the way": "nothing",
    "crew": "thread pool",
    "crowd": "many ...",
    "fiber": "thread",
    "filing": "requests",
    "front door": "HTTP, MCP",
    "goes elsewhere": "runs in a thread",
    "greenlet": "thread",
    "has_rung": "take_notified",
    "heard": "received",
    "mailbox": "ElicitationStore",
    "mend": "fix",
    "mended": "fixed",
    "of_chain": "of_family",
    "patience": "timeout, deadline",
    "stand-in": "fake",
    "told": "sent, shown, reported",
    "toolbox": "tools",
    "vouched": "verified",
    "worded": "serialized, written",
}
READ: Final = (".py", ".html", ".md", ".js", ".css", ".sh", ".toml", ".yaml", "run")
HERE: Final = "tests/architecture/test_plain_language.py"
DEMO: Final = ("customers/demo/knowledge/", "customers/demo/texts/")


def _pattern(word: str) -> re.Pattern[str]:
    end = "" if word.endswith("_") else "(?![A-Za-z])"
    phrase = re.escape(word).replace(r"\ ", r"\s+")
    return re.compile(f"(?<![A-Za-z]){phrase}{end}", 0 if word != word.lower() else re.IGNORECASE)


def _uses(word: str, text: str) -> list[int]:
    """The lines on which a text uses a word."""
    return [text.count("\n", 0, found.start()) + 1 for found in _pattern(word).finditer(text)]


@cache
def _texts() -> list[tuple[str, str, str]]:
    """Code, tests, templates and pages: path, text, and the text in lower case.

    What was copied from others is in `fixtures`. Demo data is what an imaginary company and its
    customers wrote.
    """
    return [
        (path, text, text.lower())
        for path, text in sources.texts()
        if path.endswith(READ)
        and path != HERE
        and "/fixtures/" not in path
        and not path.startswith(DEMO)
    ]


@pytest.mark.parametrize("word", USE_INSTEAD)
def test_a_word_is_not_used(word: str) -> None:
    first = word.lower().split()[0]
    found = [
        f"{path}:{line}"
        for path, text, lowered in _texts()
        if first in lowered  # known sooner than by a pattern
        for line in _uses(word, text)
    ]

    assert found == [], f"write instead of {word!r}: {USE_INSTEAD[word]}"


@pytest.mark.parametrize(
    ("word", "text", "lines"),
    [
        ("mailbox", "a\nthe Mailbox_of(one)\nmailboxes", [2]),
        ("mend", "amend, mender, recommend", []),
        ("by the way", "and by the\n    way", [1]),
        ("MOST_", "MOST_BYTES, ALMOST_ALL, most_of, MOST", [1]),
        ("OpenSubscription", "an OpenSubscription, an ear, Early", [1]),
    ],
)
def test_a_word_is_found_as_a_whole(word: str, text: str, lines: list[int]) -> None:
    assert _uses(word, text) == lines
