"""The audit list as a file: what it holds, its bound, and that it is on record."""

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from audit import call_list
from audit.models import ActionExecution, SecurityEvent
from tests.audit import calls
from workspace.models import User

EXPORT = "/admin/audit/actionexecution/export."
NOW = datetime(2026, 11, 22, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def root(client: Client, db: None) -> Client:  # noqa: ARG001  a fixture
    client.force_login(User.objects.create_superuser("root@example.com"))
    return client


def body(response: Any) -> str:
    assert response.status_code == 200
    return b"".join(response.streaming_content).decode()


def test_an_export_holds_what_the_filtered_list_shows(root: Client) -> None:
    match = calls.put(NOW, outcome="refused", arguments={"charge": "ch_1"})
    calls.put(NOW)

    (row,) = csv.DictReader(io.StringIO(body(root.get(f"{EXPORT}csv?outcome=refused"))))
    (item,) = json.loads(body(root.get(f"{EXPORT}json?outcome=refused")))

    assert row["id"] == item["id"] == str(match.pk)
    assert json.loads(row["arguments"]) == item["arguments"] == {"charge": "ch_1"}
    columns = [field.attname for field in ActionExecution._meta.concrete_fields]
    assert list(row) == [*columns, "source", "route"]


def test_an_export_without_rows_is_a_header_and_an_empty_array(root: Client) -> None:
    assert body(root.get(f"{EXPORT}csv")).count("\n") == 1
    assert json.loads(body(root.get(f"{EXPORT}json"))) == []


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        # Where tabs separate cells, and where a line break ends a line, another one begins there.
        ("\t=1", "'\t'=1"),
        ("\r=1", "'\r'=1"),
        ("\tx", "'\tx"),
    ],
)
def test_no_cell_of_an_export_is_a_formula(root: Client, name: str, written: str) -> None:
    calls.put(NOW, client_name=name)

    (row,) = csv.DictReader(io.StringIO(body(root.get(f"{EXPORT}csv")), newline=""))
    assert row["client_name"] == written


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("see;=1+1;", "see;'=1+1;"),
        ('see;"=1+1', "see;'\"=1+1"),
        ("line\n@SUM(A1)\tx", "line\n'@SUM(A1)\tx"),
        ("a\t\uff0b1; b - c = d", "a\t'\uff0b1; b - c = d"),
    ],
)
def test_no_part_of_a_cell_is_a_formula_where_another_character_separates_cells(
    root: Client, text: str, written: str
) -> None:
    calls.put(NOW, client_name=text)
    row = next(csv.DictReader(io.StringIO(body(root.get(f"{EXPORT}csv")), newline="")))
    assert row["client_name"] == written


def test_no_part_of_a_cell_with_json_is_a_formula(root: Client) -> None:
    calls.put(NOW, arguments={"note;-1": ["x;@SUM(A1)"]})
    row = next(csv.DictReader(io.StringIO(body(root.get(f"{EXPORT}csv")), newline="")))
    assert json.loads(row["arguments"]) == {"note;'-1": ["x;'@SUM(A1)"]}


def test_an_export_ends_at_its_bound(root: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_list, "MAX_EXPORTED", 25)
    monkeypatch.setattr(call_list, "AT_ONCE", 10)
    rows = [calls.row(NOW + timedelta(seconds=number)) for number in range(40)]
    ActionExecution.objects.bulk_create(rows)

    found = json.loads(body(root.get(f"{EXPORT}json")))
    assert [one["id"] for one in found] == [str(one.pk) for one in reversed(rows[15:])]


def test_an_export_is_on_record_with_who_and_which_filters(root: Client) -> None:
    body(root.get(f"{EXPORT}csv?outcome=refused"))

    event = SecurityEvent.objects.get(kind="audit_exported")
    assert event.detail == "csv by root@example.com: outcome=refused"
    assert event.user_id == str(User.objects.get().pk)


def test_staff_without_the_permission_export_nothing(client: Client, db: None) -> None:  # noqa: ARG001  a fixture
    client.force_login(User.objects.create_user("staff@example.com", is_staff=True))
    assert client.get(f"{EXPORT}csv").status_code == 403
    assert not SecurityEvent.objects.filter(kind="audit_exported").exists()


def test_an_export_of_another_kind_or_filter_does_not_exist(root: Client) -> None:
    assert root.get(f"{EXPORT}xml").status_code == 404
    assert root.get(f"{EXPORT}csv?period=yesterday").status_code == 400
    assert root.get(f"{EXPORT}csv?unknown=1").status_code == 400


def test_the_list_links_to_exports_under_its_filters(root: Client) -> None:
    page = root.get("/admin/audit/actionexecution/?outcome=refused").content.decode()
    for kind in ("csv", "json"):
        assert f'href="{EXPORT}{kind}?outcome=refused"' in page
