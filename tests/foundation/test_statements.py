"""Statements below Django's cursor: the same rows, errors and transactions, in both databases."""

from collections.abc import Iterator
from datetime import UTC, datetime
from http import HTTPStatus
from uuid import UUID, uuid4

import pytest
from django.conf import settings
from django.db import (
    DataError,
    IntegrityError,
    OperationalError,
    ProgrammingError,
    connection,
    transaction,
)
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext
from django.utils.safestring import SafeString

from audit.outcomes import Outcome
from foundation import ids
from foundation.db.statements import Statement
from workspace.models import Organization

pytestmark = pytest.mark.django_db(transaction=True)

COLUMNS = "id, name, slug, widget_key, created_at, calls_per_minute"
INSERT = Statement(
    f"INSERT INTO workspace_organization ({COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s)"  # noqa: S608  our names
)
FIND = Statement(
    "SELECT id, name, calls_per_minute, suspended_at IS NULL, created_at = %s"
    " FROM workspace_organization WHERE slug = %s"
)
RENAME = Statement("UPDATE workspace_organization SET name = %s WHERE slug = %s")
NOW = datetime(2026, 11, 22, 3, 4, 5, 678901, tzinfo=UTC)


@pytest.fixture
def key() -> Iterator[UUID]:
    key = uuid4()
    INSERT.rows(key, "Zoë & Söhne 🚀 \\ %s", "zoe", "ab_live_1", NOW, 10**6)
    return key


def test_values_come_back_as_they_went_in(key: UUID) -> None:
    row = FIND.row(NOW, "zoe")
    assert row is not None
    assert (ids.from_row(row[0]), *row[1:3]) == (key, "Zoë & Söhne 🚀 \\ %s", 10**6)
    assert all(row[3:])
    kept = Organization.objects.get(pk=key)
    assert (kept.name, kept.created_at, kept.calls_per_minute) == (row[1], NOW, 10**6)


def test_nothing_is_null_both_ways() -> None:
    INSERT.rows(uuid4(), "", "none", "ab_live_2", NOW, None)
    row = FIND.row(NOW, "none")
    assert row is not None
    assert row[1:3] == ("", None)
    assert FIND.row(NOW, "somebody else") is None
    assert RENAME.rows("x", "somebody else") == []


@pytest.mark.usefixtures("key")
def test_errors_are_django_s_and_the_next_statement_is_none_the_worse() -> None:
    with pytest.raises(IntegrityError):
        INSERT.rows(uuid4(), "Again", "zoe", "ab_live_3", NOW, None)
    with pytest.raises((ProgrammingError, OperationalError)):
        Statement("SELECT nothing FROM workspace_organization WHERE slug = %s").rows("zoe")
    assert FIND.row(NOW, "zoe") is not None


@pytest.mark.usefixtures("key")
def test_a_transaction_that_is_rolled_back_takes_them_along() -> None:
    def fail() -> None:
        with transaction.atomic():
            RENAME.rows("Renamed", "zoe")
            renamed = FIND.row(NOW, "zoe")
            assert renamed is not None
            assert renamed[1] == "Renamed"
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    assert not Organization.objects.filter(name="Renamed").exists()


def test_a_broken_transaction_runs_none() -> None:
    with transaction.atomic():
        transaction.set_rollback(True)
        with pytest.raises(TransactionManagementError):
            FIND.row(NOW, "zoe")


@pytest.mark.usefixtures("key")
def test_values_of_a_subclass_are_written_as_what_they_are_made_of() -> None:
    INSERT.rows(uuid4(), SafeString("<b>"), "sub", "ab_live_4", NOW, HTTPStatus.BAD_GATEWAY)
    INSERT.rows(uuid4(), Outcome.SUCCESS, "true", "ab_live_5", NOW, True)
    kept = Organization.objects.filter(slug__in=("sub", "true")).order_by("slug")
    assert [(one.name, one.calls_per_minute) for one in kept] == [("<b>", 502), ("success", 1)]


@pytest.mark.skipif(settings.ON_SQLITE, reason="SQLite stores NUL")
def test_text_that_would_be_cut_off_is_refused(key: UUID) -> None:
    with pytest.raises(DataError):
        FIND.row(NOW, "zoe\0evil")
    with pytest.raises(DataError):
        RENAME.rows("Zoe\0evil", "zoe")
    assert Organization.objects.get(pk=key).name.startswith("Zoë")


@pytest.mark.usefixtures("key")
@pytest.mark.skipif(settings.ON_SQLITE, reason="SQLite has no types that could change")
def test_a_column_of_another_type_breaks_no_statement() -> None:
    width = "ALTER TABLE workspace_organization ALTER COLUMN name TYPE varchar({})"
    try:
        for characters in (151, 152, 153):
            assert FIND.row(NOW, "zoe") is not None
            with connection.cursor() as cursor:
                cursor.execute(width.format(characters))
            assert [FIND.row(NOW, "zoe") is None for _ in range(3)] == [False] * 3
    finally:
        with connection.cursor() as cursor:
            cursor.execute(width.format(150))


@pytest.mark.usefixtures("key")
def test_whoever_watches_the_queries_sees_them() -> None:
    with CaptureQueriesContext(connection) as captured:
        assert FIND.row(NOW, "zoe") is not None
    assert len(captured.captured_queries) == 1


@pytest.mark.usefixtures("key")
def test_a_new_connection_prepares_them_again() -> None:
    FIND.row(NOW, "zoe")
    connection.close()
    assert FIND.row(NOW, "zoe") is not None


@pytest.mark.usefixtures("key")
@pytest.mark.skipif(settings.ON_SQLITE, reason="SQLite keeps no statements that could be dropped")
@pytest.mark.parametrize("gone", ["DEALLOCATE ALL", "DISCARD ALL"])
def test_statements_that_somebody_dropped_are_run_all_the_same(gone: str) -> None:
    FIND.row(NOW, "zoe")
    with connection.cursor() as cursor:
        cursor.execute(gone)
    assert FIND.row(NOW, "zoe") is not None
    assert FIND.row(NOW, "zoe") is not None
