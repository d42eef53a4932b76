"""The scenarios that are named here are those of the suite, no more and no fewer."""

import re
import subprocess

import pytest

from tests.conformance import scenarios, suite
from tests.conformance.known_failures import KNOWN
from tests.drivers import node
from tests.drivers.node import Unavailable


def list_scenarios(*words: str) -> str:
    try:
        command = suite.command()
    except Unavailable as problem:
        pytest.skip(str(problem))
    asked = [*command, "list", "--server", *words]
    done = subprocess.run(
        asked, capture_output=True, text=True, check=True, timeout=60, env=node.plain_environment()
    )
    return done.stdout


def names(text: str) -> set[str]:
    return set(re.findall(r"^ +- ([a-z0-9-]+)", text, re.MULTILINE))


@pytest.mark.parametrize("revision", scenarios.REQUIRED)
def test_what_a_revision_requires_is_what_the_suite_says_it_does(revision: str) -> None:
    required, _, rest = list_scenarios("--requirements", revision).partition("Client scenarios")
    unscored = rest.partition("never scored")[2]

    assert names(required) == set(scenarios.REQUIRED[revision])
    assert set(re.findall(r"- ([a-z0-9-]+) \[server\]", unscored)) == set(
        scenarios.NOT_SCORED[revision]
    )


def test_no_scenario_of_the_suite_is_left_out() -> None:
    named = {name for part in (scenarios.REQUIRED, scenarios.NOT_SCORED) for name in flat(part)}

    assert names(list_scenarios()) == named | set(scenarios.ELSEWHERE)


def test_there_are_as_many_required_scenarios_as_were_promised() -> None:
    assert {revision: len(them) for revision, them in scenarios.REQUIRED.items()} == {
        "2026-07-28": 37,
        "2025-11-25": 30,
    }


def test_nothing_that_a_revision_requires_is_excused_as_a_whole() -> None:
    excused = {key for part, keys in KNOWN.items() if part != "unscored" for key in keys}

    assert all(":" in key for key in excused)


def flat(part: object) -> set[str]:
    assert isinstance(part, dict)
    return {name for them in part.values() for name in them}
