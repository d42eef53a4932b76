"""What a first start makes, and what a start refuses to begin without."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, transaction
from structlog.testing import capture_logs

from halo_mcp import bootstrap
from tests.drivers import grants
from workspace.models import Agent, AgentKind, Membership, Organization, Role, User


@pytest.fixture
def _empty(db: None) -> None:  # noqa: ARG001  the fixture's name is its work
    assert not User.objects.exists()


@pytest.mark.usefixtures("_empty")
def test_a_first_start_founds_one_organization_with_its_admin_and_agent() -> None:
    admin = bootstrap.found_demo()

    assert admin is not None
    membership = Membership.objects.get()
    assert membership.user.email == admin.email == "admin@example.com"
    assert membership.role == Role.SUPER_ADMIN
    assert membership.user.is_superuser
    assert Agent.objects.get(organization=membership.organization).kind == AgentKind.ASK_AI


@pytest.mark.usefixtures("_empty")
def test_a_drawn_password_is_printed_and_works() -> None:
    admin = bootstrap.found_demo()

    assert admin is not None
    assert admin.password is not None
    assert len(admin.password) >= 16
    assert User.objects.get().check_password(admin.password)


@pytest.mark.usefixtures("_empty")
def test_a_given_password_works_and_is_not_printed_again(settings: Any) -> None:
    settings.HALO_ADMIN_PASSWORD = "correct horse battery staple"

    admin = bootstrap.found_demo()

    assert admin is not None
    assert admin.password is None
    assert User.objects.get().check_password("correct horse battery staple")


@pytest.mark.usefixtures("_empty")
def test_the_first_admin_s_password_has_no_text_form() -> None:
    admin = bootstrap.found_demo()

    assert admin is not None
    assert str(admin.password) not in repr(admin)


@pytest.mark.usefixtures("_empty")
def test_a_second_start_founds_nothing() -> None:
    bootstrap.found_demo()

    assert bootstrap.found_demo() is None
    assert User.objects.count() == Organization.objects.count() == 1


@pytest.mark.usefixtures("_empty")
def test_a_deployment_with_people_of_its_own_gets_no_demo() -> None:
    User.objects.create_user("ada@example.com")

    assert bootstrap.found_demo() is None
    assert not Organization.objects.exists()


@pytest.mark.usefixtures("_empty")
def test_production_gets_no_demo(settings: Any) -> None:
    settings.HALO_PRODUCTION = True

    assert bootstrap.bootstrap() is None
    assert not User.objects.exists()


@pytest.mark.django_db
def test_spec2_a_start_removes_scopes_that_name_nothing(settings: Any) -> None:
    settings.HALO_PRODUCTION = True
    authorization = grants.make_grant("docs:read actions:nosuch:* actions:*").authorization

    bootstrap.bootstrap()

    authorization.refresh_from_db()
    assert authorization.scope == "docs:read actions:*"


@pytest.mark.usefixtures("_empty")
def test_an_admin_needs_an_address(settings: Any) -> None:
    settings.HALO_ADMIN_EMAIL = "not an address"

    with pytest.raises(ImproperlyConfigured, match=r"^HALO_ADMIN_EMAIL: "):
        bootstrap.found_demo()
    assert not User.objects.exists()


@pytest.mark.django_db
def test_there_is_nothing_to_migrate_on_an_up_to_date_database() -> None:
    assert bootstrap.migrate() is False


@pytest.mark.django_db
def test_what_can_be_reached_lets_the_start_go_on() -> None:
    bootstrap.reach_what_settings_name()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("REDIS_URL", "redis://127.0.0.1:1"),
        ("REDIS_URL", "memcached://127.0.0.1"),
        ("HALO_LIMIT_STORE", "a file"),
        ("HALO_SEALING_KEYS", ["too-short"]),
    ],
)
def test_what_cannot_be_worked_with_ends_the_start_by_name(
    settings: Any, name: str, value: object
) -> None:
    setattr(settings, name, value)

    with pytest.raises(ImproperlyConfigured, match=f"^{name}"):
        bootstrap.reach_what_settings_name()


@pytest.mark.django_db
def test_a_data_folder_that_cannot_be_written_to_ends_the_start_by_name(
    settings: Any, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    settings.HALO_DATA_DIR = tmp_path / "file" / "below"

    with pytest.raises(ImproperlyConfigured, match=r"^HALO_DATA_DIR: cannot write"):
        bootstrap.reach_what_settings_name()


def test_a_database_that_does_not_answer_ends_the_start_in_one_line_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuses() -> Iterator[None]:
        raise OperationalError("connection refused\n\tIs the server running?")

    monkeypatch.setattr(transaction, "atomic", refuses)

    with pytest.raises(ImproperlyConfigured) as refused:
        bootstrap.reach_what_settings_name()

    assert str(refused.value) == "DATABASE_URL: connection refused"


@pytest.mark.django_db
def test_a_documentation_folder_that_is_missing_ends_the_start_by_name(
    settings: Any, tmp_path: Path
) -> None:
    settings.HALO_DOCS_SOURCE = tmp_path / "missing"

    with pytest.raises(ImproperlyConfigured, match=r"^HALO_DOCS_SOURCE: "):
        bootstrap.bootstrap()


@pytest.mark.django_db
@pytest.mark.skipif(django_settings.ON_SQLITE, reason="a file accepts any number")
@pytest.mark.parametrize(("processes", "is_warned"), [(1, False), (1_000, True)])
def test_more_connections_than_postgresql_accepts_are_a_warning_with_both_numbers(
    settings: Any, processes: int, *, is_warned: bool
) -> None:
    settings.HALO_PROCESSES = processes
    settings.HALO_DATABASE_CONNECTIONS = 10
    with capture_logs() as logs:
        bootstrap.warn_of_few_connections()

    warned = [line for line in logs if line["event"] == "few_database_connections"]
    assert bool(warned) is is_warned
    assert all(line["wanted"] > line["accepted"] > 0 for line in warned)
