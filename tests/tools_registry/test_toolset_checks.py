"""The system check that stands between a bad toolset and a running server."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.conf import settings
from django.core.checks import run_checks

import integrations
from tests.drivers import fixture_tools
from tests.drivers.fake_vendors.connected import SOUND
from tests.drivers.fixture_tools import NOTHING, schema
from tools_registry import checks, registry
from tools_registry.api import Facts, Setting, Toolset

TEXT = {"type": "string", "maxLength": 100}


def toolset(name: str = "look_up", *, integration: str = "crm", **facts: Any) -> Toolset:
    """A sound toolset of one tool, but for what is given."""
    made = Toolset(
        integration=integration,
        connection=facts.pop("connection", SOUND if integration else None),
        title=facts.pop("set_title", "CRM"),
        scope=facts.pop("scope", "docs:read"),
    )
    flags = {"read_only": "mutates" not in facts}
    reported = {"title": "Look up", "description": "Looks up.", "input_schema": NOTHING}

    def run(_context: Any, _arguments: Any) -> Facts:
        return Facts(None)

    run.__name__ = name
    made.tool(**{**reported, **flags, **facts})(run)
    return made


def find_problem_ids(*toolsets: Toolset) -> list[str]:
    return [str(message.id) for message in checks.find_problems(toolsets)]


def test_the_tools_of_this_product_are_sound() -> None:
    assert run_checks(tags=["tools"]) == []


def test_the_tools_of_the_tests_are_sound_too() -> None:
    assert find_problem_ids(replace(fixture_tools.CRM, connection=SOUND)) == []


def test_a_sound_toolset_passes() -> None:
    assert find_problem_ids(toolset(), toolset("search_docs", integration="")) == []


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        (toolset("Look"), ["tools.E004", "tools.E008"]),
        (toolset("look-up", integration=""), ["tools.E004"]),
        (toolset("_look", integration=""), ["tools.E004"]),
        (toolset("x" * 61, integration=""), ["tools.E004"]),
        (toolset(title=" "), ["tools.E005"]),
        (toolset(description=""), ["tools.E005"]),
        (toolset(set_title=""), ["tools.E003"]),
        (toolset(integration="Crm"), ["tools.E003", "tools.E004", "tools.E008"]),
        (toolset(integration="", scope="docs:write"), ["tools.E008"]),
        (toolset(integration="", scope=""), ["tools.E008"]),
        (toolset(integration="", scope="docs:read setup:read"), ["tools.E008"]),
    ],
    ids=[
        "capital",
        "hyphen",
        "underscore-first",
        "long",
        "blank-title",
        "no-description",
        "untitled-integration",
        "integration-id",
        "unknown-scope",
        "no-scope",
        "two-scopes",
    ],
)
def test_names_texts_and_scopes_are_held_to_their_form(bad: Toolset, expected: list[str]) -> None:
    assert find_problem_ids(bad) == expected


def toolset_with_connection(**facts: Any) -> Toolset:
    return toolset(connection=replace(SOUND, **facts))


def setting(name: str = "team", **facts: Any) -> Toolset:
    return toolset_with_connection(settings=[Setting(**{"name": name, "title": "Team", **facts})])


BADLY_CONNECTED: dict[str, tuple[Toolset, str]] = {
    "not-at-all": (toolset(connection=None), "tools.E012"),
    "http": (toolset_with_connection(base_url="http://crm.example"), "tools.E013"),
    "no-host": (toolset_with_connection(base_url="https:///api"), "tools.E013"),
    "end-slash": (toolset_with_connection(base_url="https://crm.example/"), "tools.E013"),
    "query": (toolset_with_connection(base_url="https://crm.example?a=1"), "tools.E013"),
    "user": (toolset_with_connection(base_url="https://me:pw@crm.example"), "tools.E013"),
    "bad-host": (toolset_with_connection(base_url="https://[crm"), "tools.E013"),
    "no-credential": (toolset_with_connection(credential=" "), "tools.E013"),
    "no-time": (toolset_with_connection(deadline=0), "tools.E013"),
    "too-long": (toolset_with_connection(deadline=61), "tools.E013"),
    "nan": (toolset_with_connection(deadline=float("nan")), "tools.E013"),
    "authorization": (toolset_with_connection(headers={"authorization": "Bearer x"}), "tools.E013"),
    "bad-header": (toolset_with_connection(headers={"X-A: b\r\nX-C": "d"}), "tools.E013"),
    "bad-key-header": (toolset_with_connection(idempotency_header="Host"), "tools.E013"),
    "setting-name": (setting("Team name"), "tools.E014"),
    "setting-secret": (setting("api_token"), "tools.E014"),
    "setting-title": (setting(title=""), "tools.E014"),
    "setting-pattern": (setting(pattern="("), "tools.E014"),
    "setting-twice": (
        toolset_with_connection(settings=[Setting("a", "A"), Setting("a", "B")]),
        "tools.E014",
    ),
    "destructive": (toolset(destructive=True), "tools.E015"),
    "open": (toolset(input_schema={"type": "object"}), "tools.E016"),
}


@pytest.mark.parametrize(("bad", "expected"), BADLY_CONNECTED.values(), ids=BADLY_CONNECTED)
def test_what_no_organization_could_connect_or_call_is_refused(bad: Toolset, expected: str) -> None:
    assert find_problem_ids(bad) == [expected]


def test_a_connection_with_everything_passes() -> None:
    settings = [Setting("team", "Team", pattern="[A-Z]+", required=True), Setting("key_of", "Key")]
    sound = toolset_with_connection(
        headers={"X-Version": "1"}, idempotency_header="X-Key", settings=settings
    )
    assert find_problem_ids(sound) == []


UNPORTABLE: dict[str, dict[str, Any]] = {
    "array": {"type": "array"},
    "no-type": {},
    "any-of": {**NOTHING, "anyOf": [{"required": []}]},
    "one-of": {**NOTHING, "oneOf": [{}]},
    "all-of": {**NOTHING, "allOf": [{}]},
    "inner-ref": schema(a={"$ref": "#/$defs/x"}) | {"$defs": {"x": TEXT}},
    "inner-types": schema(a={"type": "array", "items": [{"type": ["string", "null"]}]}),
    "list-of-types": {"type": ["object", "null"]},
}


@pytest.mark.parametrize("unportable", UNPORTABLE.values(), ids=UNPORTABLE)
@pytest.mark.parametrize("place", ["input_schema", "output_schema"])
def test_schemas_that_some_host_cannot_read_are_refused(
    place: str, unportable: dict[str, Any]
) -> None:
    schemas: dict[str, Any] = {place: unportable}
    assert "tools.E006" in find_problem_ids(toolset(**schemas))


@pytest.mark.parametrize(
    "unusable",
    [
        schema(a={"type": "nonsense"}),
        schema(a={**TEXT, "pattern": "("}),
        schema(a={**TEXT, "pattern": "(?=x)"}),
        schema(a={"type": "number", "multipleOf": 0}),
        schema(a={"const": float}),
    ],
    ids=["type", "pattern", "look-around", "multiple-of-0", "no-json"],
)
def test_schemas_that_do_not_compile_are_refused(unusable: dict[str, Any]) -> None:
    assert find_problem_ids(toolset(input_schema=unusable)) == ["tools.E007"]


def test_a_property_may_be_called_like_a_keyword() -> None:
    assert find_problem_ids(toolset(input_schema=schema(type=TEXT, anyOf=TEXT, enum=TEXT))) == []


def test_a_name_declared_twice_is_named() -> None:
    one, two = toolset("same", integration=""), toolset("same", integration="")
    (message,) = checks.find_problems((one, two))
    assert (message.id, message.msg) == (
        "tools.E002",
        "The toolsets: the tool 'same' is declared 2 times.",
    )
    assert message.hint


def test_an_integration_declared_in_two_files_is_named() -> None:
    (message,) = checks.find_problems((toolset("one"), toolset("two")))
    assert message.msg == "The toolsets: the integration 'crm' is declared 2 times."


@pytest.fixture
def _file_without_toolset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An integration's file that forgot its TOOLSET."""
    (tmp_path / "forgetful.py").write_text('"""Nothing here."""\n')
    package = ModuleType("forgotten")
    package.__path__ = [str(tmp_path)]
    monkeypatch.setitem(sys.modules, "forgotten", package)
    monkeypatch.setattr(settings, "TOOL_PACKAGES", ("forgotten",))
    registry._native.cache_clear()
    yield
    monkeypatch.undo()
    registry._native.cache_clear()
    sys.modules.pop("forgotten.forgetful", None)


@pytest.mark.usefixtures("_file_without_toolset")
def test_a_file_without_a_toolset_is_named() -> None:
    (message,) = run_checks(tags=["tools"])
    assert (message.id, message.msg) == (
        "tools.E001",
        "forgotten.forgetful declares no TOOLSET.",
    )


def test_integrations_are_looked_for_where_their_files_stand() -> None:
    assert Path(integrations.__path__[0]).name == "integrations"
