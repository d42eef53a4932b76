"""No address of the admin answers 500, whatever a list is filtered, sorted or searched by (P3)."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.contrib import admin
from django.contrib.admin.filters import SimpleListFilter
from django.contrib.admin.options import ModelAdmin
from django.contrib.admin.utils import quote
from django.db.models import DateField, DateTimeField, Model
from django.test import Client
from django.urls import reverse

from tests.drivers import full_tenants
from workspace.models import DataImport, User

DATE_PARTS = ("year", "month", "day")
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

FIRST_DAY = datetime(1, 1, 1, tzinfo=UTC)
LAST_DAY = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)

pytestmark = pytest.mark.slow


def lists() -> list[ModelAdmin]:
    return sorted(admin.site._registry.values(), key=str)


def path_of(registered: ModelAdmin) -> str:
    meta = registered.model._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")


def parameters(registered: ModelAdmin) -> Iterator[str]:
    """Every query parameter that the list offers, and some that every list has."""
    yield from ("q", "o", "p", "all", "e", "_popup", "_to_field", "_facets", "nonsense", "pk", "id")
    for each in registered.list_filter:
        one = each[0] if isinstance(each, tuple | list) else each
        if isinstance(one, type) and issubclass(one, SimpleListFilter):
            yield str(one.parameter_name)
        elif isinstance(one, str):
            yield from (f"{one}{lookup}" for lookup in LOOKUPS)
        else:
            yield from filter(None, (getattr(one, "parameter_name", None),))
    if registered.date_hierarchy:
        yield from (f"{registered.date_hierarchy}__{part}" for part in DATE_PARTS)


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


@pytest.mark.parametrize("registered", lists(), ids=str)
def test_p3_no_value_of_a_parameter_breaks_a_list(registered: ModelAdmin, root: Client) -> None:
    page = path_of(registered)
    broken = [
        (name, value[:40])
        for name in dict.fromkeys(parameters(registered))
        for value in HOSTILE
        if root.get(page, {name: value}).status_code >= 500
    ]
    assert broken == []


@pytest.mark.parametrize("registered", lists(), ids=str)
def test_p3_a_date_that_cannot_be_leads_back_to_the_list(
    registered: ModelAdmin, root: Client
) -> None:
    field = registered.date_hierarchy or "created_at"
    page = path_of(registered)
    for date in DATES:
        sent = {f"{field}__{part}": value for part, value in zip(DATE_PARTS, date, strict=False)}
        assert root.get(page, sent).status_code < 500, sent


@pytest.mark.parametrize("registered", lists(), ids=str)
def test_p3_no_key_in_the_address_of_a_row_breaks_its_page(
    registered: ModelAdmin, root: Client
) -> None:
    page = path_of(registered)
    keys = [quote(str(key)) for key in registered.model._base_manager.values_list("pk", flat=True)]
    for key in ("9" * 20, "-1", "_00", "\N{SNOWMAN}", "a" * 2_000, *keys):
        for what in ("change", "delete", "history"):
            assert root.get(f"{page}{key}/{what}/").status_code < 500, (key, what)
