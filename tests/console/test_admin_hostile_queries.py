"""No address of the admin answers 500, whatever a list is filtered, sorted or searched by (P3)."""

from datetime import UTC, datetime
from itertools import cycle

import pytest
from django.contrib import admin
from django.contrib.admin.options import ModelAdmin
from django.contrib.admin.utils import get_fields_from_path
from django.db.models import DateField, DateTimeField, Model
from django.test import Client

from foundation import admin_urls
from tests.drivers import full_tenants
from workspace.models import DataImport, User

DATE_PARTS = ("year", "month", "day")
OF_EVERY_LIST = ("o", "p", "all", "e", "_popup", "_to_field", "_facets", "nonsense")
LOOKUPS = ("", "__gte", "__isnull", "__in", "__id__exact")
HOSTILE = [
    "-1",
    "9" * 20,
    "\N{ARABIC-INDIC DIGIT ONE}",
    "2026-02-31",
    "9999-12-31 23:59:59-14:00",
    "0001-01-01T00:00:00+14:00",
    "'\"\\;--%00",
    " ".join("ab" for _ in range(300)),
]
DATES = [("9999",), ("9999", "12"), ("9999", "12", "31"), ("0",), ("2026", "13"), ("1", "1", "1")]
DATES += [("2026", "2", "31"), ("9" * 20,), ("2026", "9" * 20)]
OTHER_PAGES = ("delete", "history")
KEYS = ("9" * 20, "-1", "_00", "\N{SNOWMAN}", "a" * 2_000)

FIRST_DAY = datetime(1, 1, 1, tzinfo=UTC)
LAST_DAY = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)

pytestmark = pytest.mark.slow


def lists() -> list[ModelAdmin]:
    return sorted(admin.site._registry.values(), key=str)


APPS = sorted({registered.opts.app_label for registered in lists()})


def path_of(registered: ModelAdmin) -> str:
    return admin_urls.model_url(registered.model)


def parameters(registered: ModelAdmin) -> dict[str, object]:
    """Every query parameter that the list offers, and some that every list has, with its kind.

    What answers two parameters of one kind, whatever their lists, is the same code.
    """
    found: dict[str, object] = {name: name for name in OF_EVERY_LIST}
    found["q"] = ("q", registered)
    found |= {name: (name, type(registered.opts.pk)) for name in ("pk", "id")}
    for each in registered.list_filter:
        one = each[0] if isinstance(each, tuple | list) else each
        if isinstance(one, str):
            field = type(get_fields_from_path(registered.model, one)[-1])
            given = (field, each[1] if each is not one else None)
            found |= {f"{one}{lookup}": (lookup, *given) for lookup in LOOKUPS}
        elif name := getattr(one, "parameter_name", None):
            found[str(name)] = one
    if named := registered.date_hierarchy:
        field = type(get_fields_from_path(registered.model, named)[-1])
        found |= {f"{named}__{part}": (part, field) for part in DATE_PARTS}
    return found


Question = tuple[ModelAdmin, str, str]


def questions() -> tuple[list[Question], list[Question]]:
    """Every kind of parameter with every value, and all other parameters of lists with one."""
    of_each_kind, others = list[Question](), list[Question]()
    rotating, seen = cycle(HOSTILE), set[object]()
    for registered in lists():
        for name, kind in parameters(registered).items():
            if kind in seen:
                others.append((registered, name, next(rotating)))
                continue
            seen.add(kind)
            of_each_kind += [(registered, name, value) for value in HOSTILE]
    return of_each_kind, others


def find_server_errors(client: Client, asked: list[Question]) -> list[tuple[str, str, str]]:
    return [
        (path, name, value[:40])
        for registered, name, value in asked
        if client.get(path := path_of(registered), {name: value}).status_code >= 500
    ]


@pytest.fixture
def root(client: Client, db: None) -> Client:  # noqa: ARG001  asked for: it opens the database
    """A superuser's browser; each list has a row of the first and one of the last day of dates."""
    for name, date in {"first": FIRST_DAY, "last": LAST_DAY}.items():
        for row in full_tenants.tenant(name).rows.values():
            if not isinstance(row, DataImport):  # dated by the server, which adds 30 days
                move(row, date)
    client.force_login(User.objects.create_superuser("root@example.com"))
    client.raise_request_exception = False
    return client


def move(row: Model, date: datetime) -> None:
    dates = {
        field.name: date if isinstance(field, DateTimeField) else date.date()
        for field in row._meta.concrete_fields
        if isinstance(field, DateField)
    }
    if dates:
        type(row)._base_manager.filter(pk=row.pk).update(**dates)


@pytest.mark.parametrize("app", APPS)
def test_p3_no_value_of_a_kind_of_parameter_breaks_a_list(app: str, root: Client) -> None:
    asked, _others = questions()
    assert find_server_errors(root, [one for one in asked if one[0].opts.app_label == app]) == []


@pytest.mark.daily
@pytest.mark.parametrize("app", APPS)
def test_p3_no_parameter_of_any_list_breaks_it(app: str, root: Client) -> None:
    _asked, others = questions()
    assert find_server_errors(root, [one for one in others if one[0].opts.app_label == app]) == []


def test_p3_a_date_that_cannot_be_leads_back_to_the_list(root: Client) -> None:
    rotating, seen = cycle(DATES), set[object]()
    for registered in lists():
        field = registered.date_hierarchy
        kind = field and type(get_fields_from_path(registered.model, field)[-1])
        for date in DATES if kind not in seen else [next(rotating)]:
            sent = {
                f"{field or 'created_at'}__{part}": value
                for part, value in zip(DATE_PARTS, date, strict=False)
            }
            assert root.get(path_of(registered), sent).status_code < 500, (registered, sent)
        seen.add(kind)


def test_p3_no_date_of_a_row_breaks_its_pages(root: Client) -> None:
    for registered in lists():
        rows = registered.model._base_manager.all()
        addresses = [admin_urls.row_url(row, "change") for row in rows]
        addresses += [admin_urls.row_url(row, what) for row in rows[:1] for what in OTHER_PAGES]
        for address in addresses:
            assert root.get(address).status_code < 500, address


def test_p3_no_key_in_the_address_of_a_row_breaks_its_page(root: Client) -> None:
    rotating, seen = cycle(KEYS), set[object]()
    for registered in lists():
        kind = type(registered.opts.pk)
        for what in ("change", *OTHER_PAGES):
            for key in KEYS if (kind, what) not in seen else [next(rotating)]:
                address = f"{path_of(registered)}{key}/{what}/"
                assert root.get(address).status_code < 500, address
            seen.add((kind, what))
