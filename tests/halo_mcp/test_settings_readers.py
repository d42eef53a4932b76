"""Reading the environment: a typed value, or a refusal that names the variable."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from foundation.limits import Limit
from halo_mcp import env

NAME = "A_VARIABLE"
NETWORKS = ["10.0.0.0/8", "192.0.2.7", "2001:db8::/32"]
ORIGINS = ["https://a.example", "https://b.example"]
Reader = Callable[[str], Any]

READERS: dict[str, Reader] = {
    "flag": lambda name: env.flag(name, default=False),
    "integer": lambda name: env.integer(name, 5, least=1, most=9),
    "choice": lambda name: env.choice(name, "tea", ("tea", "coffee")),
    "rate": lambda name: env.rate(name, "120/m"),
    "networks": env.networks,
    "origin": lambda name: env.origin(name, "http://127.0.0.1:8000"),
    "origins": env.origins,
    "path": lambda name: env.path(name, "/aap"),
    "scope": lambda name: env.scope(name, "docs:read"),
    "schemes": lambda name: env.schemes(name, "cursor vscode"),
    "database": lambda name: env.database(name, "sqlite:////data/halo.sqlite3"),
}


@pytest.fixture(autouse=True)
def edges_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read here is no setting of the product, whose edges other tests go through."""
    monkeypatch.setattr(env, "edges", dict(env.edges))


@pytest.mark.parametrize(
    ("reader", "value", "read"),
    [
        ("flag", "Yes", True),
        ("path", "/api/agents/", "/api/agents"),
        ("path", "", "/aap"),
        ("flag", "0", False),
        ("integer", " 7 ", 7),
        ("integer", "1", 1),
        ("integer", "9", 9),
        ("choice", "coffee", "coffee"),
        ("rate", "10/h", Limit(10, 3600)),
        ("networks", "10.0.0.0/8,192.0.2.7 2001:db8::/32", NETWORKS),
        ("origin", "https://mcp.example.com/", "https://mcp.example.com"),
        ("origin", "http://[::1]:8000", "http://[::1]:8000"),
        ("origins", "https://a.example, https://b.example/", ORIGINS),
        ("scope", "docs:read  setup:read", "docs:read setup:read"),
        ("schemes", "zed, com.example.app", frozenset({"zed", "com.example.app"})),
    ],
)
def test_a_good_value_is_read(
    monkeypatch: pytest.MonkeyPatch, reader: str, value: str, read: object
) -> None:
    monkeypatch.setenv(NAME, value)

    assert READERS[reader](NAME) == read


@pytest.mark.parametrize(
    ("reader", "default"),
    [
        ("flag", False),
        ("integer", 5),
        ("choice", "tea"),
        ("rate", Limit(120, 60)),
        ("networks", []),
        ("origin", "http://127.0.0.1:8000"),
        ("origins", []),
        ("scope", "docs:read"),
        ("schemes", frozenset({"cursor", "vscode"})),
    ],
)
def test_an_empty_variable_means_the_default(
    monkeypatch: pytest.MonkeyPatch, reader: str, default: object
) -> None:
    monkeypatch.setenv(NAME, "  ")

    assert READERS[reader](NAME) == default


@pytest.mark.parametrize(
    ("reader", "value"),
    [
        *(("path", one) for one in ("/", "aap", "/a b", "//", "/a?b")),
        ("flag", "perhaps"),
        ("integer", "seven"),
        ("integer", "1.5"),
        ("integer", "0"),
        ("integer", "10"),
        ("choice", "milk"),
        ("rate", "120 per minute"),
        ("rate", "0/m"),
        ("networks", "10.0.0.0/33"),
        ("networks", "10.0.0.0/8 proxy.internal"),
        ("origin", "mcp.example.com"),
        ("origin", "ftp://mcp.example.com"),
        ("origin", "https://mcp.example.com/api"),
        ("origin", "https://mcp.example.com?x=1"),
        ("origin", "https://mcp.example.com#x"),
        ("origin", "https://ada@mcp.example.com"),
        ("origin", "https://mcp.example.com:port"),
        ("origin", "https://mcp.example.com:99999"),
        ("origin", "https://[mcp"),
        ("origins", "https://a.example b.example"),
        ("scope", "docs:read admin:root"),
        ("scope", 'docs:read"'),
        ("schemes", "cursor javascript"),
        ("schemes", "Cursor"),
        ("schemes", "cursor:"),
        ("database", "mysql://db.internal/halo"),
        ("database", "postgres://db.internal:port/halo"),
        ("database", "postgres://db.internal"),
        ("database", "sqlite://:memory:"),
        ("database", "halo"),
        ("database", "sqlite:////data/halo.sqlite3?timeout=1"),
    ],
)
def test_a_bad_value_is_refused_with_the_variable_s_name(
    monkeypatch: pytest.MonkeyPatch, reader: str, value: str
) -> None:
    monkeypatch.setenv(NAME, value)

    with pytest.raises(ImproperlyConfigured, match=f"^{NAME}: "):
        READERS[reader](NAME)


@pytest.mark.parametrize(
    "url",
    ["postgress://ada:s3cret-word@db/halo", "postgres://ada:s3cret-word@db:port/halo"],
)
def test_a_database_url_that_is_refused_keeps_its_password(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], url: str
) -> None:
    monkeypatch.setenv(NAME, url)

    with pytest.raises(ImproperlyConfigured) as refused:
        READERS["database"](NAME)

    assert "s3cret-word" not in str(refused.value)
    assert "s3cret-word" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("folder", ["plain", "with space", "50%", "c#", "why?", "a+b", "münchen"])
def test_a_database_file_may_live_in_a_folder_of_any_name(
    monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.delenv(NAME, raising=False)
    path = Path("/data") / folder / "halo.sqlite3"

    assert env.database(NAME, env.sqlite_url(path))["NAME"] == str(path)
