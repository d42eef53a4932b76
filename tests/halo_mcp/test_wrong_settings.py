"""A value that cannot work stops the start in one line that names its variable."""

import re
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from halo_mcp import bootstrap, checks, env
from tests.drivers.built_settings import build

ONE_LINE = r"^{}: [^\n]+$"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "postgres"),
        ("HALO_EMAIL_URL", "nonsense"),
        ("HALO_EMAIL_URL", "ftp://mail.example.com"),
        ("HALO_EMAIL_URL", "smtp+tls://127.0.0.1:notaport"),
        ("HALO_EMAIL_URL", "smtp://ada:s3cret-word@mail.example.com:99999"),
        ("HALO_EMAIL_FROM", "nobody"),
        ("HALO_SECRET_KEY", "short"),
        ("HALO_WIDGET_SCRIPT_URL", "javascript:alert"),
        ("HALO_WIDGET_SCRIPT_URL", 'https://cdn.example/a.js" onload="x'),
        ("HALO_WIDGET_SCRIPT_URL", "//cdn.example/a.js"),
        ("HALO_GATEWAY_PRIVATE_HOSTS", "http://x"),
        ("HALO_GATEWAY_PRIVATE_HOSTS", "api.internal:0"),
        ("HALO_GATEWAY_PRIVATE_HOSTS", "172.16.0.0/12"),
        ("HALO_AGENTS_PRIVATE_HOSTS", "api.internal:99999"),
        ("HALO_CIMD_PRIVATE_HOSTS", "*.internal"),
        ("HALO_KNOWLEDGE_PRIVATE_HOSTS", "10.0.0.0/8"),
        ("HALO_MAX_BODY_BYTES", "99999999999999"),
        ("HALO_RETENTION_EVENTS_DAYS", "999999999"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_work_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=ONE_LINE.format(name)) as refused:
        build(**{name: value})
    assert "s3cret-word" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"HALO_EMBEDDER": "voyage"}, "HALO_EMBEDDER_KEY"),
        ({"HALO_EMBEDDER": "openai"}, "HALO_EMBEDDER_KEY"),
        ({"HALO_RERANKER": "voyage"}, "HALO_RERANKER_KEY"),
    ],
)
def test_a_provider_without_its_key_is_refused(given: dict[str, str], missing: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=ONE_LINE.format(missing)):
        build(**given)
    assert build(**given, **{missing: "key"})
    # A server of one's own may want none.
    assert build(**given, **{missing.replace("KEY", "URL"): "http://vectors.internal/v1"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HALO_GATEWAY_PRIVATE_HOSTS", "api.internal, API.internal:8080 [::1]:9 10.0.0.1 my_api"),
        ("HALO_EMAIL_FROM", "Halo <halo@example.com>"),
        ("HALO_EMAIL_URL", "smtp+tls://ada:pass@mail.example.com:587"),
        ("HALO_WIDGET_SCRIPT_URL", "https://cdn.example/sdk/1/halo.js?v=2"),
    ],
)
def test_what_works_is_accepted(name: str, value: str) -> None:
    assert build(**{name: value})


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HALO_LIMIT_STORE", "redis://127.0.0.1:1/0"),
        ("HALO_DOCS_SOURCE", "/nope"),
    ],
)
def test_a_store_or_folder_that_is_not_there_stops_the_start(
    settings: Any, name: str, value: str
) -> None:
    setattr(settings, name, build(**{name: value})[name])
    with pytest.raises(ImproperlyConfigured, match=ONE_LINE.format(name)):
        bootstrap.reach_what_settings_name()


@pytest.mark.django_db
def test_counters_in_postgresql_need_it(settings: Any) -> None:
    settings.HALO_LIMIT_STORE = "postgresql"
    if settings.ON_SQLITE:
        with pytest.raises(ImproperlyConfigured, match=ONE_LINE.format("HALO_LIMIT_STORE")):
            bootstrap.reach_what_settings_name()
    else:
        bootstrap.reach_what_settings_name()


@pytest.mark.parametrize(
    "path", ["/api/mcp", "/api", "/admin", "/docs", "/static", "/w", "/signin"]
)
def test_a_path_of_agents_that_hides_something_is_refused(settings: Any, path: str) -> None:
    settings.HALO_AGENTS_PATH = path
    (problem,) = checks.path_of_agents_is_free()
    assert (problem.id, "HALO_AGENTS_PATH" in problem.msg) == ("halo.E009", True)
    assert any("HALO_AGENTS_PATH" in each for each in checks.problems())


@pytest.mark.parametrize("path", ["/aap", "/agents", "/api/agents", "/documents"])
def test_a_path_of_agents_that_is_free_is_accepted(settings: Any, path: str) -> None:
    settings.HALO_AGENTS_PATH = path
    assert checks.path_of_agents_is_free() == []


def test_a_misspelt_name_is_warned_of_with_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    assert checks.warnings() == []
    monkeypatch.setenv("HALO_ACESS_TOKEN_SECONDS", "60")
    monkeypatch.setenv("HALO_XYZ", "1")
    monkeypatch.setenv("HALO_TEST_OF_A_TEST", "1")
    first, second = checks.warnings()
    assert re.search("HALO_ACESS_TOKEN_SECONDS .* HALO_ACCESS_TOKEN_SECONDS", first)
    assert "HALO_XYZ" in second
    assert "mean" not in second


def test_every_setting_is_known_by_name() -> None:
    assert {"HALO_ENV", "HALO_SECRET_KEY", "HALO_HR_WRITE_MODE", "DATABASE_URL"} <= set(env.edges)
