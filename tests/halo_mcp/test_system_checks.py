"""What production must not be started with."""

import os
from typing import Any

import pytest
from django.core.checks import CheckMessage

from halo_mcp import checks
from tests.drivers import forked_commands

SAFE: dict[str, Any] = {
    "HALO_ENV": "production",
    "HALO_PRODUCTION": True,
    "IS_LOOPBACK": False,
    "DEBUG": False,
    "SECRET_KEY_IS_GENERATED": False,
    "SEALING_KEY_IS_GENERATED": False,
    "REDIS_URL": "redis://127.0.0.1:6379",
    "HALO_LIMIT_STORE": "redis://127.0.0.1:6379",
    "HALO_PROCESSES": 4,
    "IS_HTTPS": True,
}


@pytest.fixture
def find_problems(settings: Any) -> Any:
    """The problems of a safe production deployment with some settings replaced."""

    def ask(**replaced: Any) -> list[CheckMessage]:
        for name, value in (SAFE | replaced).items():
            setattr(settings, name, value)
        return [
            *checks.production_is_safe(),
            *checks.public_server_is_named(),
            *checks.counters_are_shared(),
            *checks.default_scope_can_be_granted(),
        ]

    return ask


def test_a_safe_production_deployment_has_no_problem(find_problems: Any) -> None:
    assert find_problems() == []


@pytest.mark.parametrize(
    ("replaced", "identifier", "hint"),
    [
        ({"DEBUG": True}, "halo.E001", "HALO_DEBUG"),
        ({"SECRET_KEY_IS_GENERATED": True}, "halo.E002", "HALO_SECRET_KEY"),
        ({"SEALING_KEY_IS_GENERATED": True}, "halo.E002", "HALO_SEALING_KEYS"),
        pytest.param({"HALO_LIMIT_STORE": "memory"}, "halo.E003", "REDIS_URL", id="T05"),
        ({"REDIS_URL": ""}, "halo.E004", "REDIS_URL"),
        ({"IS_HTTPS": False}, "halo.E005", "HALO_PUBLIC_URL"),
        (
            {"HALO_DEFAULT_SCOPE": "docs:read actions:nosuch:*"},
            "halo.E006",
            "HALO_DEFAULT_SCOPE",
        ),
    ],
)
def test_one_unsafe_setting_is_one_error_with_an_id_and_a_hint(
    find_problems: Any, replaced: dict[str, Any], identifier: str, hint: str
) -> None:
    (problem,) = find_problems(**replaced)

    assert problem.id == identifier
    assert problem.is_serious()
    assert hint in problem.hint


def test_one_process_may_count_for_itself(find_problems: Any) -> None:
    assert find_problems(HALO_PROCESSES=1, REDIS_URL="", HALO_LIMIT_STORE="memory") == []


def test_a_laptop_may_be_as_unsafe_as_it_likes_but_not_count_in_two_places(
    find_problems: Any,
) -> None:
    laptop = {
        "HALO_ENV": "",
        "HALO_PRODUCTION": False,
        "IS_LOOPBACK": True,
        "DEBUG": True,
        "SECRET_KEY_IS_GENERATED": True,
        "SEALING_KEY_IS_GENERATED": True,
        "IS_HTTPS": False,
        "REDIS_URL": "",
        "HALO_LIMIT_STORE": "memory",
    }

    assert find_problems(**laptop, HALO_PROCESSES=1) == []
    assert [problem.id for problem in find_problems(**laptop, HALO_PROCESSES=2)] == ["halo.E003"]


def test_an_address_that_others_reach_needs_a_word_about_what_the_server_is(
    find_problems: Any,
) -> None:
    (problem,) = find_problems(HALO_ENV="", HALO_PRODUCTION=False)
    assert problem.id == "halo.E008"
    assert find_problems(HALO_ENV="", HALO_PRODUCTION=False, IS_LOOPBACK=True) == []
    assert find_problems(HALO_ENV="development", HALO_PRODUCTION=False) == []


@pytest.mark.process
@pytest.mark.parametrize("url", ["https://tools.corp.example", "http://192.168.7.20:8000"])
def test_a_server_that_others_reach_is_refused_until_it_is_said_what_it_is(url: str) -> None:
    ours = ("HALO_", "DJANGO_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    data = {"HALO_DATA_DIR": os.environ["HALO_DATA_DIR"], "HALO_PUBLIC_URL": url}
    refused = forked_commands.run(["manage.py", "check"], kept | data)
    assert refused.returncode != 0
    assert "halo.E008" in refused.stderr
    assert "Add the line HALO_ENV=production" in refused.stderr
    named = forked_commands.run(["manage.py", "check"], kept | data | {"HALO_ENV": "development"})
    assert named.returncode == 0, named.stderr


@pytest.mark.process
@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        ("tools.localhost", True),
        ("127.3.2.1", True),
        ("[::1]", True),
        ("localhost.example", False),
        ("mylocalhost", False),
    ],
)
def test_names_of_this_computer_need_no_word_about_what_it_is(host: str, *, is_local: bool) -> None:
    ours = ("HALO_", "DJANGO_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    url = {"HALO_PUBLIC_URL": f"http://{host}:8000"}
    data = {"HALO_DATA_DIR": os.environ["HALO_DATA_DIR"]}
    checked = forked_commands.run(["manage.py", "check"], kept | data | url)
    assert ("halo.E008" in checked.stderr) is not is_local, checked.stderr
    assert (checked.returncode == 0) is is_local


PRODUCTION = {
    "HALO_ENV": "production",
    "HALO_PUBLIC_URL": "https://mcp.example.com",
    "HALO_DATA_DIR": "/nonexistent",
    "HALO_SECRET_KEY": "an-example-of-sixty-letters-and-digits-0123456789-abcdefghijklmnop",
    "HALO_SEALING_KEYS": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    "DATABASE_URL": "postgres://example/example",
    "REDIS_URL": "redis://example",
}


@pytest.mark.process
@pytest.mark.parametrize(
    ("replaced", "message"),
    [
        ({}, ["no issues"]),
        ({"HALO_DEBUG": "yes"}, ["halo.E001"]),
        ({"HALO_PROCESSES": "3", "REDIS_URL": ""}, ["halo.E004", "HINT: Set REDIS_URL"]),
    ],
)
def test_the_deployment_check_judges_the_settings_as_they_are_read(
    replaced: dict[str, str], message: list[str]
) -> None:
    ours = ("HALO_", "DJANGO_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    words = ["manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    done = forked_commands.run(words, kept | PRODUCTION | replaced)

    assert (done.returncode == 0) is (replaced == {}), done.stderr
    assert all(words in done.stdout + done.stderr for words in message)
    assert "Traceback" not in done.stderr


@pytest.mark.process
@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["manage.py", "worker"], id="worker"),
        pytest.param(["manage.py", "up"], id="up"),
        pytest.param(["-m", "uvicorn", "halo_mcp.asgi:application", "--port", "0"], id="uvicorn"),
    ],
)
def test_nothing_takes_work_in_an_unsafe_production(words: list[str]) -> None:
    ours = ("HALO_", "DJANGO_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    unsafe = {"HALO_DEBUG": "yes", "PORT": "1"}
    done = forked_commands.run(words, kept | PRODUCTION | unsafe)

    assert done.returncode != 0
    assert "halo.E001" in done.stderr
    assert "HINT: Unset HALO_DEBUG." in done.stderr
    assert "Traceback" not in done.stderr
