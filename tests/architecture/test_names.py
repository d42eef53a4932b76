"""Functions are named by what they do or return, and a class has its name for itself.

The exceptions are what is left to rename: they may only become fewer.
"""

import ast
import re
from collections import Counter
from functools import cache
from typing import Final

import pytest

from tests.architecture import sources


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PREPOSITIONS: Final = _words(
    "about above across after against among around at before behind below between beyond by"
    " during in into near of off onto out over per since than through under until upon via"
    " within without"
)
# A name that begins with one of these is a conversion or a hook, if there is a noun behind it.
PREFIXES: Final = frozenset({"as", "for", "from", "on", "to", "with"})
# What may stand behind a participle without making it a noun phrase.
PARTICLES: Final = _words(
    "again already alone apart away back first here is last later not now once only or and so still"
    " then there too twice"
)
IRREGULAR_PARTICIPLES: Final = _words(
    "begun bought bound broken brought built caught chosen dealt done drawn driven fed felt fought"
    " found frozen given gone grown held hidden kept known laid led left lent lost made meant"
    " met paid proven said seen sent shaken shown slept sold sought spent spoken stolen struck"
    " sworn taken taught thought thrown torn understood undone withdrawn won worn written"
)
NOT_PARTICIPLES: Final = frozenset({"embed", "exceed", "feed", "hundred", "need", "seed", "speed"})

# path, then the function.
EXCEPTIONS: Final = frozenset(
    {
        "mcp_protocol/prompt_shapes.py required",  # a member of the protocol
        "tools_registry/endpoint/replies.py _in_progress_error",
        "tools_registry/endpoint/websocket/frames.py _in_flight_error",
    }
)
# Names that several classes have.
REPEATED_CLASSES: Final = frozenset({"Outcome"})  # of calls, and the choices of a column
# Django finds these by their names; the sentences of the conformance checks are read as text.
FRAMEWORK_CLASSES: Final = frozenset({"Command", "Config", "Media", "Meta"})
SENTENCES: Final = "aap_conformance/checks/"

# Files below `tests` are not parsed, which takes seconds. Code in their strings counts too.
DEFINITION: Final = re.compile(r"^ *(?:async )?(def|class) (\w+)", re.MULTILINE)


def is_participle(word: str) -> bool:
    if word in IRREGULAR_PARTICIPLES:
        return True
    return word.endswith("ed") and len(word) > 3 and word not in NOT_PARTICIPLES


def is_unclear(name: str) -> bool:
    """Whether a name is a participle or a preposition and names no thing and no act."""
    first, *others = name.strip("_").split("_")
    if first in PREPOSITIONS:
        return True
    if first in PREFIXES:
        return not others
    if others == ["at"]:
        return False  # a time, as `created_at`
    particles = PREPOSITIONS | PREFIXES | PARTICLES
    return is_participle(first) and all(is_participle(one) or one in particles for one in others)


@cache
def _definitions_of_tests() -> tuple[tuple[str, str, str], ...]:
    """Each function and class below `tests` as its path, `def` or `class`, and its name."""
    return tuple(
        (str(path.relative_to(sources.ROOT)), *found)
        for path in sorted((sources.ROOT / "tests").rglob("*.py"))
        for found in DEFINITION.findall(path.read_text(encoding="utf-8"))
    )


def test_functions_are_named_by_what_they_do_or_return() -> None:
    unclear = {
        f"{path} {node.name}"
        for path, module in sources.modules().items()
        if not path.startswith(SENTENCES)
        for node in ast.walk(module)
        if isinstance(node, sources.Function) and is_unclear(node.name)
    }

    assert unclear - EXCEPTIONS == set(), "say what it does or returns: docs/develop"
    assert EXCEPTIONS - unclear == set(), "these are exceptions no more"


def test_functions_and_fixtures_of_tests_are_named_so_too() -> None:
    unclear = {
        f"{path} {name}"
        for path, kind, name in _definitions_of_tests()
        if kind == "def" and not name.startswith("test_") and is_unclear(name)
    }

    assert unclear == set(), "say what it does, returns or yields"


def test_a_class_has_its_name_for_itself() -> None:
    count = Counter(
        node.name
        for module in sources.modules().values()
        for node in ast.walk(module)
        if isinstance(node, ast.ClassDef) and node.name not in FRAMEWORK_CLASSES
    )
    repeated = {name for name, times in count.items() if times > 1}

    assert repeated - REPEATED_CLASSES == set(), "put the subject into the name"
    assert REPEATED_CLASSES - repeated == set(), "these are exceptions no more"


def test_a_class_of_tests_has_its_name_for_itself() -> None:
    count = Counter(
        name
        for _path, kind, name in _definitions_of_tests()
        if kind == "class" and name not in FRAMEWORK_CLASSES
    )

    assert {name for name, times in count.items() if times > 1} == set(), "name the subject too"


@pytest.mark.parametrize(
    "name", ["of", "_shown", "settled", "at", "_mapped_again", "on", "held", "by_name", "sent_to"]
)
def test_names_of_participles_and_prepositions_are_found(name: str) -> None:
    assert is_unclear(name)


@pytest.mark.parametrize(
    "name",
    [
        "find_rule",
        "granted_scopes",
        "_from_row",
        "is_shown",
        "on_message",
        "feed",
        "embed",
        "ended_at",
    ],
)
def test_names_of_acts_and_things_are_not(name: str) -> None:
    assert not is_unclear(name)
