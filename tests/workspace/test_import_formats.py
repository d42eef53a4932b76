"""Files as other products and spreadsheets write them: guessed, shown, corrected, confirmed."""

import csv
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from customers.imports import passes, reading, uploads
from customers.privacy import erasure
from foundation.admin_urls import row_url
from tests.drivers.grants import Grant, make_grant
from tests.workspace.customer_pages import check, send, upload, words
from workspace.models import (
    Company,
    Customer,
    DataImport,
    ImportMapping,
    ImportStatus,
    Organization,
    Ticket,
    User,
)

# One of them is the note of this test.
STATEMENTS_OF_A_PART = 8


@pytest.fixture
def admin(client: Client, db: None) -> Client:  # noqa: ARG001  asked for: it opens the database
    client.force_login(User.objects.create_superuser("root@example.com"))
    return client


def newest() -> DataImport:
    return DataImport.objects.latest("created_at")


def choose(admin: Client, **choices: str) -> Any:
    """The page of the newest file after it was checked again with these choices."""
    given = newest()
    named = {name.replace("__", ":"): value for name, value in choices.items()}
    return choose_columns(admin, given, named)


def choose_columns(admin: Client, given: DataImport, choices: Mapping[str, str]) -> Any:
    admin.post(row_url(given, "choices"), choices)
    uploads.work(given.pk)
    return admin.get(row_url(given))


def confirm(admin: Client, **more: str) -> str:
    """What the page says after the newest file was confirmed and imported."""
    admin.post(row_url(newest(), "confirm"), more)
    uploads.work(newest().pk)
    return words(admin.get(row_url(newest())))


# --- Bytes: encoding, delimiter, rows -------------------------------------------------------------

ZOE = "external_id,email,name\nu-7,zoe@example.com,Zoë Ångström\n"
WAYS: dict[str, bytes] = {
    "tabs": ZOE.replace(",", "\t").encode(),
    "bars": ZOE.replace(",", "|").encode(),
    "semicolons with commas in a cell": ZOE.replace(",", ";").encode() + b"u-8;;a, b, c\n",
    "a line with the separator": b"sep=;\r\n" + ZOE.replace(",", ";").encode(),
    "UTF-16 with its mark": ZOE.encode("utf-16"),
    "UTF-16 without its mark": ZOE.encode("utf-16-le"),
    "big-endian UTF-16": b"\xfe\xff" + ZOE.encode("utf-16-be"),
    "empty columns at the end": ZOE.replace("\n", ",,\n").encode(),
    "an empty column in the middle": ZOE.replace("name", ",name").replace("Zoë", ",Zoë").encode(),
    "rows without their last cells": (ZOE + "u-8,b@example.com\nu-9\n").encode(),
    "line breaks of old computers": ZOE.replace("\n", "\r").encode(),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_file_is_read_however_its_bytes_are_written(
    admin: Client, grant: Grant, way: str
) -> None:
    assert "Imported" in words(send(admin, grant.organization, WAYS[way]))
    customer = Customer.objects.get(external_id="u-7")
    assert (customer.email, customer.name) == ("zoe@example.com", "Zoë Ångström")


def test_a_file_without_unicode_is_shown_in_each_encoding_and_read_in_the_chosen_one(
    admin: Client, grant: Grant
) -> None:
    page = words(check(admin, grant.organization, ZOE.encode("windows-1252")))
    assert "Needs your choices" in page
    assert "Western European (Windows-1252): Zoë, Ångström" in page
    assert "Cyrillic (Windows-1251): Zoл" in page
    assert not Customer.objects.exists()
    assert "1 new" in words(choose(admin, encoding="windows-1252"))
    confirm(admin)
    assert Customer.objects.get().name == "Zoë Ångström"


def test_a_delimiter_that_is_unclear_is_a_question(admin: Client, grant: Grant) -> None:
    rows = "a;b,email;c\n" + "1;2,x@example.com;3\n" * 3
    page = words(check(admin, grant.organization, rows))
    assert "The rows can be split in several ways." in page
    assert newest().status == ImportStatus.UNCLEAR


UNREADABLE: dict[str, tuple[bytes, str]] = {
    "a zip": (b"PK\x03\x04" + bytes(100), "This is a zip file or a workbook"),
    "an old workbook": (b"\xd0\xcf\x11\xe0" + bytes(100), "This is a workbook"),
    "a PDF": (b"%PDF-1.7\n", "This is a PDF"),
    "JSON": (b'[{"email": "a@example.com"}]', "This is a JSON file"),
    "a page": (b"<!doctype html><p>email</p>", "This is an HTML or XML file"),
    "random bytes": (bytes(range(256)) * 40, "This is not a text file."),
    "10 million columns": (b"," * 10_000_000 + b"\n", "A row is longer than 1,048,576 characters."),
    "half a million columns": (b"a," * 500_000 + b"\n", "The file has more than 200 columns."),
    "columns in millions of lines": (b'email,"\n"' + b',"\n"' * 3_000_000, "A row is longer than"),
    "a cell of 16 MB": (b'email\n"' + b"x" * 16_000_000 + b'"\n', "A row is longer than"),
    "a cell that is never closed": (b'email\n"' + b"x\n" * 100_000, "A cell is longer than"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_of_another_kind_is_refused_with_its_reason(
    admin: Client, grant: Grant, name: str
) -> None:
    data, reason = UNREADABLE[name]
    assert reason in words(send(admin, grant.organization, data))
    assert not Customer.objects.exists()


# --- Numbers --------------------------------------------------------------------------------------

AMOUNTS = {
    ("1499,90", "12"): ("1499.90", "12"),
    ("2.499,90", "30.000"): ("2499.90", "30000"),
    ("2,499.90", "30.000"): ("2499.90", "30.00"),
    ("$20", "US$ 1,234.5"): ("20", "1234.50"),
    ("1 499.5", "2\u202f000\u202f000"): ("1499.50", "2000000"),
    ("1'499.5", "3"): ("1499.50", "3"),
    ("1,00,000.5", "USD 7"): ("100000.50", "7"),
    ("0.125", "1234.567"): ("0.13", "1234.57"),
}


@pytest.mark.parametrize("cells", AMOUNTS, ids=" ".join)
def test_the_numbers_of_a_file_decide_their_format(
    admin: Client, grant: Grant, cells: tuple[str, str]
) -> None:
    rows = "".join(f'{number};"{cell}"\n' for number, cell in enumerate(cells, 1))
    page = words(send(admin, grant.organization, "external_id;mrr\n" + rows, "companies"))
    assert "2 new" in page
    stored = Company.objects.order_by("external_id").values_list("mrr", flat=True)
    assert tuple(stored) == tuple(map(Decimal, AMOUNTS[cells]))


@pytest.mark.parametrize(("number", "value"), [("point", "40"), ("comma", "40000")])
def test_a_number_that_means_two_things_is_a_question(
    admin: Client, grant: Grant, number: str, value: str
) -> None:
    page = words(check(admin, grant.organization, "external_id;mrr\na;40.000\n", "companies"))
    assert "Decimal point: 40.000 = 40.000" in page
    assert "Decimal comma: 40.000 = 40000" in page
    assert newest().status == ImportStatus.UNCLEAR
    assert "1 new" in words(choose(admin, number=number))
    confirm(admin)
    assert Company.objects.get().mrr == Decimal(value)


def test_numbers_in_both_formats_are_a_question_and_the_others_are_refused(
    admin: Client, grant: Grant
) -> None:
    rows = "external_id;mrr\na;40,5\nb;50.5\n"
    page = words(check(admin, grant.organization, rows, "companies"))
    assert "The numbers of the file are written in both ways." in page
    page = words(choose(admin, number="comma"))
    assert "3 mrr Enter a number such as 49,90." in page


def test_an_amount_in_another_currency_is_refused(admin: Client, grant: Grant) -> None:
    rows = "external_id,mrr\na,£12\nb,CHF 40\nc,$3\n"
    page = words(check(admin, grant.organization, rows, "companies"))
    assert "2 mrr The amount is in £. Enter it in USD." in page
    assert "3 mrr The amount is in CHF. Enter it in USD." in page
    assert "1 new" in page


# --- Dates ----------------------------------------------------------------------------------------

DAYS = {
    ("05/04/2026", "25/04/2026"): ("2026-04-05", "2026-04-25"),
    ("05/04/2026", "04/25/2026"): ("2026-05-04", "2026-04-25"),
    ("5.4.2026", "2026/04/06"): ("2026-04-05", "2026-04-06"),
    ("3 Feb 2026", "March 4th, 2026"): ("2026-02-03", "2026-03-04"),
    ("1767225600", "1770000000123"): ("2026-01-01", "2026-02-02"),
    ("20260317", "2026-03-18 00:00"): ("2026-03-17", "2026-03-18"),
    ("03/03/2026", "2026-03-18"): ("2026-03-03", "2026-03-18"),
}


@pytest.mark.parametrize("cells", DAYS, ids=" ".join)
def test_the_dates_of_a_file_decide_their_order(
    admin: Client, grant: Grant, cells: tuple[str, str]
) -> None:
    rows = "".join(f'{number},"{cell}"\n' for number, cell in enumerate(cells, 1))
    page = send(admin, grant.organization, f"external_id,renewal_date\n{rows}", "companies")
    assert "2 new" in words(page)
    stored = Company.objects.order_by("external_id").values_list("renewal_date", flat=True)
    assert tuple(map(str, stored)) == DAYS[cells]


@pytest.mark.parametrize(("order", "month"), [("dmy", 7), ("mdy", 6)])
def test_a_day_is_never_taken_for_a_month_without_a_choice(
    admin: Client, grant: Grant, order: str, month: int
) -> None:
    rows = "external_id,renewal_date\na,06/07/2026\nb,08/08/2026\n"
    page = words(check(admin, grant.organization, rows, "companies"))
    assert "Day first: 06/07/2026 = 6 July 2026" in page
    assert "Month first: 06/07/2026 = 7 June 2026" in page
    assert newest().status == ImportStatus.UNCLEAR
    choose(admin, date=order)
    confirm(admin)
    assert Company.objects.get(external_id="a").renewal_date.month == month


def test_times_without_an_offset_are_read_in_the_zone_that_is_chosen(
    admin: Client, grant: Grant
) -> None:
    rows = "external_id,signed_up_at\na,2026-07-01 09:30\nb,2026-07-01T09:30:00+02:00\n"
    page = words(check(admin, grant.organization, rows, "companies"))
    assert "The times of the file do not name their time zone." in page
    choose(admin, zone="America/New_York")
    confirm(admin)
    times = Company.objects.order_by("external_id").values_list("signed_up_at", flat=True)
    assert list(times) == [
        datetime(2026, 7, 1, 13, 30, tzinfo=UTC),
        datetime(2026, 7, 1, 7, 30, tzinfo=UTC),
    ]


def test_a_header_that_names_its_zone_needs_no_question(admin: Client, grant: Grant) -> None:
    rows = "External ID,Signed up (Europe/Berlin)\na,7/30/2026 4:05 PM\n"
    assert "1 new" in words(send(admin, grant.organization, rows))
    assert Customer.objects.get().signed_up_at == datetime(2026, 7, 30, 14, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "shown", "first"),
    [
        ("", "2026-11-01 00:00:00 America/Los_Angeles", datetime(2026, 11, 1, 7, tzinfo=UTC)),
        ("Asia/Tokyo", "2026-11-01 00:00:00 Asia/Tokyo", datetime(2026, 10, 31, 15, tzinfo=UTC)),
    ],
)
def test_days_are_those_of_the_organization_or_of_the_zone_that_is_chosen(
    admin: Client, grant: Grant, zone: str, shown: str, first: datetime
) -> None:
    grant.organization.time_zone = "America/Los_Angeles"
    grant.organization.save()
    rows = "external_id,signed_up_at\na,2026-11-01\nb,11/30/2025\n"
    page = words(check(admin, grant.organization, rows, "companies"))
    assert newest().status == ImportStatus.READY
    assert "Days begin at midnight in the time zone of the organization." in page
    if zone:
        page = words(choose(admin, zone=zone))
    assert shown in page
    confirm(admin)
    assert Company.objects.get(external_id="a").signed_up_at == first


def test_a_time_with_its_offset_is_shown_in_the_zone_of_the_organization(
    admin: Client, grant: Grant
) -> None:
    grant.organization.time_zone = "Asia/Tokyo"
    grant.organization.save()
    rows = "external_id,signed_up_at\na,2026-07-01T09:30:00+02:00\n"
    page = words(check(admin, grant.organization, rows, "companies"))
    assert "2026-07-01 16:30:00 Asia/Tokyo" in page


def test_a_day_that_does_not_exist_is_named(admin: Client, grant: Grant) -> None:
    rows = "external_id,renewal_date\na,2026-02-30\nb,31/04/2026\n"
    page = words(check(admin, grant.organization, rows, "companies"))
    assert "2 renewal_date 2026-02-30 does not exist." in page
    assert "3 renewal_date 31/04/2026 does not exist with the day first." in page


# --- Headers and exports --------------------------------------------------------------------------


def test_headers_of_other_spellings_and_parts_of_a_name_are_recognized(
    admin: Client, grant: Grant
) -> None:
    rows = "Last Name,First Name,E-mail address,User ID\nHopper,Grace,grace@example.com,g-1\n"
    assert "1 new" in words(send(admin, grant.organization, rows))
    customer = Customer.objects.get()
    assert (customer.name, customer.external_id) == ("Grace Hopper", "g-1")


def test_the_parts_of_a_name_are_limited_together(admin: Client, grant: Grant) -> None:
    rows = f"first_name,last_name,email\n{'a' * 120},{'b' * 120},ab@example.com\n"
    page = words(send(admin, grant.organization, rows))
    assert "2 name Enter at most 200 characters." in page


def test_a_number_of_thousands_of_digits_is_refused(admin: Client, grant: Grant) -> None:
    rows = f'external_id,employee_count\na,"1{",000" * 2_000}"\n'
    page = words(send(admin, grant.organization, rows, "companies"))
    assert "2 employee_count Enter a number such as 49.90." in page


def test_a_file_that_an_earlier_version_has_checked_is_asked_about(
    admin: Client, grant: Grant
) -> None:
    upload(admin, grant.organization, "external_id,mrr\na,70.000\n", "companies")
    DataImport.objects.update(status=ImportStatus.READY, preview={"columns": [], "rows": []})
    assert "Needs your choices" in confirm(admin)
    assert not Company.objects.exists()


def test_erasing_a_customer_deletes_the_refused_rows(admin: Client, grant: Grant) -> None:
    check(admin, grant.organization, "external_id,email\n1,a@example.com\n2,none\n")
    confirm(admin, without_refused="on")
    assert newest().refused_rows is not None
    erasure.begin(grant.organization.pk, Customer.objects.get().pk, erasure.PrivacyActor("test"))
    assert newest().refused_rows is None


def test_a_column_is_guessed_by_its_values_and_remembered_for_the_next_file(
    admin: Client, grant: Grant
) -> None:
    rows = "Contact,Badge,Shoe size\n{},{},42\n"
    page = words(check(admin, grant.organization, rows.format("a@example.com", "B-1")))
    assert "Guessed by its values." in page
    assert "No column has this name." in page
    given = newest()
    columns = {"column:Badge": "external_id", "column:Shoe size": "custom.Shoe size"}
    page = choose_columns(admin, given, {"column:Contact": "email", **columns})
    assert "1 new" in words(page)
    confirm(admin)
    assert Customer.objects.get().external_id == "B-1"
    assert Customer.objects.get().custom_fields == {"Shoe size": "42"}
    page = words(send(admin, grant.organization, rows.format("b@example.com", "B-2")))
    assert "Imported 1 rows 1 new" in page
    others = make_grant()
    check(admin, others.organization, rows.format("c@example.com", "B-3"))
    assert newest().status == ImportStatus.UNCLEAR
    assert ImportMapping.objects.get().organization == grant.organization


def test_a_wrong_column_is_corrected_without_another_upload(admin: Client, grant: Grant) -> None:
    check(admin, grant.organization, "email,name,role\na@example.com,Editor,Ada\n")
    assert "Ready to import" in words(admin.get(row_url(newest())))
    columns = {"column:name": "role", "column:role": "name"}
    page = words(choose_columns(admin, newest(), columns))
    assert "Ready to import" in page
    confirm(admin)
    assert (Customer.objects.get().name, Customer.objects.get().role) == ("Ada", "Editor")


def test_a_refused_file_is_corrected_without_another_upload(admin: Client, grant: Grant) -> None:
    page = words(check(admin, grant.organization, "email,plan\nAda,a@example.com\n"))
    assert "2 email Enter an email address." in page
    columns = {"column:email": "plan", "column:plan": "email"}
    assert "1 new" in words(choose_columns(admin, newest(), columns))
    assert not Customer.objects.exists()


def test_two_columns_cannot_be_the_same(admin: Client, grant: Grant) -> None:
    check(admin, grant.organization, "email,name,phone\na@example.com,Ada,1\n")
    page = words(choose_columns(admin, newest(), {"column:phone": "email"}))
    assert "“phone” is email already." in page
    page = words(choose_columns(admin, newest(), {"column:email": "email"}))
    assert "email Two columns of the file are read as this one." in page
    assert not Customer.objects.exists()


def test_a_choice_that_is_not_offered_is_refused(admin: Client, grant: Grant) -> None:
    check(admin, grant.organization, "email,phone\na@example.com,1\n")
    for name, value in (("column:phone", "password"), ("delimiter", "x")):
        admin.post(row_url(newest(), "choices"), {name: value})
        assert newest().status == ImportStatus.UNCLEAR
    assert "Choose one of the values for Delimiter." in words(admin.get(row_url(newest())))


EXPORTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "Stripe": (
        "customers",
        (
            "id,Description,Email,Name,Created (UTC),Delinquent,Card ID,Plan\n"
            "cus_Q1w2e3,,lin@example.com,Lin,2026-05-06 07:08,false,card_1,price_1\n"
        ),
        {"email": "lin@example.com", "vendor_ids": {"stripe": "cus_Q1w2e3"}, "plan": ""},
    ),
    "HubSpot": (
        "customers",
        (
            "Record ID,First Name,Last Name,Email,Phone Number,Contact owner,Create Date\n"
            "901,Kim,Lee,kim@example.com,+49 1,Bo,2026-01-02 03:04\n"
        ),
        {"name": "Kim Lee", "vendor_ids": {"hubspot": "901"}, "custom_fields": {}},
    ),
    "HubSpot companies": (
        "companies",
        (
            "Record ID,Company name,Company Domain Name,Number of Employees,City\n"
            "77,Globex,globex.example,1.250,Oslo\n78,Initech,initech.example,30,Bonn\n"
        ),
        {"name": "Globex", "employee_count": 1250},
    ),
    "Intercom": (
        "customers",
        (
            "Name,Email,User ID,Phone,Signed up (UTC),Last seen (UTC),City\n"
            "Sam,sam@example.com,s-1,,2026-03-04 05:06:07,2026-03-05 05:06:07,Bern\n"
        ),
        {"external_id": "s-1", "signed_up_at": datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)},
    ),
    "Zendesk": (
        "tickets",
        (
            "Summation column,Id,Requester,Requester external id,Subject,Status,Priority,"
            "Created at (UTC),Solved at (UTC)\n"
            "1,4711,Ada,-,Login fails,Solved,Urgent,2026-02-03 04:05,2026-02-04 04:05\n"
        ),
        {"external_id": "4711", "status": "resolved", "priority": "priority"},
    ),
    "Zendesk users": (
        "customers",
        (
            "Name,Email,External id,Role,Restriction,Organization,Tags,Created at\n"
            "Ida,ida@example.com,z-1,end-user,requested,Globex,vip,2026-02-03\n"
        ),
        {"external_id": "z-1", "email": "ida@example.com", "name": "Ida", "role": ""},
    ),
}
MODELS: Mapping[str, Any] = {"customers": Customer, "companies": Company, "tickets": Ticket}


@pytest.mark.parametrize("product", EXPORTS)
def test_an_export_of_another_product_is_recognized(
    admin: Client, grant: Grant, product: str
) -> None:
    kind, rows, values = EXPORTS[product]
    page = words(check(admin, grant.organization, rows, kind))
    assert f"This is an export of {product.partition(' ')[0]}." in page
    assert newest().status == ImportStatus.READY
    confirm(admin)
    stored = MODELS[kind].objects.order_by("external_id").first()
    assert {name: getattr(stored, name) for name in values} == values


def test_tickets_of_hubspot_are_recognized_and_the_zone_of_their_times_alone_is_asked(
    admin: Client, grant: Grant
) -> None:
    rows = (
        "Ticket ID,Ticket name,Pipeline,Ticket status,Priority,Create date,Category,Source\n"
        "8001,Login fails,Support,Waiting on us,HIGH,2026-02-03 04:05,Bug,EMAIL\n"
        "8002,Invoice,Support,Closed,Low,2026-02-04 04:05,,CHAT\n"
    )
    page = words(check(admin, grant.organization, rows, "tickets"))
    assert "This is an export of HubSpot." in page
    assert newest().status == ImportStatus.UNCLEAR
    choose(admin, zone="Europe/Berlin")
    assert newest().status == ImportStatus.READY
    confirm(admin)
    first, second = Ticket.objects.order_by("external_id")
    assert (first.subject, first.status, first.category) == ("Login fails", "in_progress", "Bug")
    assert first.created_at == datetime(2026, 2, 3, 3, 5, tzinfo=UTC)
    assert (second.subject, second.status, second.category) == ("Invoice", "resolved", "")
    assert (first.priority, second.priority) == ("priority", "normal")


# --- The others, without the rows that are refused ------------------------------------------------


def test_the_other_rows_are_imported_and_the_refused_ones_come_back_as_csv(
    admin: Client, grant: Grant
) -> None:
    rows = "".join(f"{number},c{number}@example.com\n" for number in range(1, 601))
    bad = 'b-1,"Ada, at home"\nb-2,none\n5,c5@example.com\n'
    page = check(admin, grant.organization, f"external_id,email\n{rows}{bad}")
    assert "Import the other 600 rows" in page.content.decode()
    assert not Customer.objects.exists()
    said = confirm(admin, without_refused="on")
    assert "Imported 603 rows 600 new 0 changed 0 unchanged 3 refused" in said
    assert "The other rows were imported." in said
    assert Customer.objects.count() == 600
    given = newest()
    assert given.content is None
    text = admin.get(row_url(given, "refused_rows")).content.decode("utf-8-sig")
    head, *kept = csv.reader(StringIO(text))
    assert head == ["external_id", "email", "refused line", "refused because"]
    assert [row[:3] for row in kept] == [
        ["b-1", "Ada, at home", "602"],
        ["b-2", "none", "603"],
        ["5", "c5@example.com", "604"],
    ]
    assert kept[2][3] == "external_id: It is already used on line 6."


def test_the_file_of_refused_rows_is_read_once_it_is_corrected(admin: Client, grant: Grant) -> None:
    check(admin, grant.organization, "external_id,email\n1,none\n2,b@example.com\n")
    confirm(admin, without_refused="on")
    text = admin.get(row_url(newest(), "refused_rows")).content.decode()
    page = words(send(admin, grant.organization, text.replace("none", "a@example.com")))
    assert "Imported 1 rows 1 new" in page
    assert Customer.objects.count() == 2


def test_refused_rows_of_a_file_whose_columns_were_chosen_come_back_without_a_question(
    admin: Client, grant: Grant
) -> None:
    """The file is recognized by its last columns, and read as the one that it comes from."""
    check(admin, grant.organization, "Konto,Post,Notiz\n1,none,x\n2,b@example.com,y\n")
    columns = {"column:Konto": "external_id", "column:Post": "email", "column:Notiz": ""}
    choose_columns(admin, newest(), columns)
    confirm(admin, without_refused="on")
    text = admin.get(row_url(newest(), "refused_rows")).content.decode()
    assert text.splitlines()[0].endswith("Konto,Post,Notiz,refused line,refused because")
    check(admin, grant.organization, text.replace("none", "a@example.com"))
    assert newest().status == ImportStatus.READY
    confirm(admin)
    assert Customer.objects.get(external_id="1").email == "a@example.com"
    assert Customer.objects.get(external_id="1").custom_fields == {}


def test_no_cell_of_the_refused_rows_is_a_formula_and_all_are_read_as_they_were(
    admin: Client, grant: Grant
) -> None:
    cells = ["=1+1", "+44 20", "-2", "@SUM(A1)", "\uff1d1", "'quoted", "plain", "Ann;-1;'x; - y"]
    rows = "".join(f"{place},none,{cell}\n" for place, cell in enumerate(cells, 1))
    check(admin, grant.organization, f"external_id,email,name\n{rows}9,i@example.com,x\n")
    confirm(admin, without_refused="on")
    text = admin.get(row_url(newest(), "refused_rows")).content.decode("utf-8-sig")
    assert [row[2] for row in csv.reader(StringIO(text))] == [
        "name", "'=1+1", "'+44 20", "'-2", "'@SUM(A1)", "'\uff1d1", "''quoted", "plain",
        "Ann;'-1;''x; - y",
    ]  # fmt: skip
    corrected = "".join(
        line.replace(",none,", f",c{place}@example.com,")
        for place, line in enumerate(text.splitlines(keepends=True))
    )
    check(admin, grant.organization, corrected)
    confirm(admin)
    stored = Customer.objects.exclude(external_id="9").order_by("external_id")
    assert [*stored.values_list("name", flat=True)] == cells


def test_a_file_of_empty_lines_is_refused_before_they_cost_anything(
    admin: Client, grant: Grant
) -> None:
    page = check(admin, grant.organization, "email\na@example.com\n" + "\n" * reading.MAX_LINES)
    assert "The file has more than 1,000,000 lines." in words(page)


def test_a_file_that_is_wrong_as_a_whole_has_no_other_rows(admin: Client, grant: Grant) -> None:
    page = check(admin, grant.organization, 'email\na@example.com\n"open\n')
    assert "Import the other" not in page.content.decode()
    assert "Refused" in confirm(admin, without_refused="on")
    assert not Customer.objects.exists()
    assert admin.get(row_url(newest(), "refused_rows")).status_code == 404


def test_only_who_may_import_chooses_and_leaves_rows_out(
    admin: Client, client: Client, grant: Grant
) -> None:
    check(admin, grant.organization, "email,phone\na@example.com,1\n")
    given = newest()
    client.force_login(make_grant().user)
    for page in ("choices", "confirm", "refused_rows"):
        assert client.post(row_url(given, page)).status_code in {302, 403, 404}
    assert newest().status == ImportStatus.UNCLEAR


@pytest.mark.slow
@pytest.mark.parametrize(
    "rows", [5_000, pytest.param(100_000, marks=pytest.mark.daily, id="the-largest")]
)
def test_a_large_file_is_checked_in_parts_and_shows_how_far_it_is(
    admin: Client, grant: Grant, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    lines = "".join(
        f"k-{n};k{n}@example.com;{n % 28 + 1:02}/0{n % 9 + 1}/2026 10:00;{n % 900 + 1}.000,5\n"
        for n in range(rows)
    )
    upload(admin, grant.organization, "User ID;E-mail;Signed up (UTC);mrr\n" + lines)
    done = []
    run = passes.check

    def check_and_note(organization: Organization, inspected: Any, advance: Any) -> Any:
        def note(count: int) -> None:
            advance(count)
            done.append(DataImport.objects.values_list("done", "rows").get())

        return run(organization, inspected, note)

    monkeypatch.setattr(passes, "check", check_and_note)
    with CaptureQueriesContext(connection) as statements:
        uploads.work(newest().pk)
    assert (newest().status, newest().added) == (ImportStatus.READY, rows)
    assert done == [(each, rows) for each in range(500, rows + 1, 500)]
    assert len(statements) <= 20 + STATEMENTS_OF_A_PART * len(done)


# --- The command ----------------------------------------------------------------------------------


def run(organization: Organization, kind: str, file: Path, *options: str) -> str:
    printed = StringIO()
    given = ["--organization", organization.slug, "--kind", kind, str(file), *options]
    call_command("import_data", *given, stdout=printed)
    return printed.getvalue()


def test_the_command_prints_its_guesses(grant: Grant, tmp_path: Path) -> None:
    file = tmp_path / "companies.csv"
    file.write_text("External ID;MRR;Renewal date\na;1.499,90;24/12/2026\n", encoding="utf-16")
    said = run(grant.organization, "companies", file)
    assert "Encoding: UTF-16\nDelimiter: Semicolon\n" in said
    assert "Decimal comma: 1.499,90 = 1499.90" in said
    assert "Day first: 24/12/2026 = 24 December 2026" in said
    assert "Column “External ID”: external_id" in said
    assert "1 added" in said


def test_the_command_names_the_option_for_each_thing_that_is_unclear(
    grant: Grant, tmp_path: Path
) -> None:
    file = tmp_path / "companies.csv"
    rows = "external_id,mrr,signed_up_at,Tier\na,20.000,09/08/2026 10:00,gold\n"
    file.write_text(rows, encoding="utf-8")
    with pytest.raises(CommandError) as raised:
        run(grant.organization, "companies", file)
    text = str(raised.value)
    for option in (
        "--number-format comma: Decimal comma: 20.000 = 20000",
        "--date-format mdy: Month first: 09/08/2026 10:00 = 8 September 2026",
        "--time-zone UTC",
        '--map "Tier=custom.Tier" or --map "Tier="',
    ):
        assert option in text
    assert not Company.objects.exists()
    options = (
        "--number-format=point",
        "--date-format=mdy",
        "--time-zone=Asia/Tokyo",
        "--map=Tier=custom.Level",
    )
    assert "1 added" in run(grant.organization, "companies", file, *options)
    company = Company.objects.get()
    assert (company.mrr, company.custom_fields) == (Decimal(20), {"Level": "gold"})
    assert company.signed_up_at == datetime(2026, 9, 8, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("--map=Phone=role", "The file has no column “Phone”. Its columns: email, name."),
        ("--map=name=nothing", "“name” cannot be “nothing”."),
        ("--map=name", "is not of the form HEADER=COLUMN."),
        ("--time-zone=Mars/Base", "No time zone has the name 'Mars/Base'."),
        ("--delimiter=xy", "delimiter"),
    ],
)
def test_the_command_refuses_an_option_that_does_not_fit(
    grant: Grant, tmp_path: Path, option: str, reason: str
) -> None:
    file = tmp_path / "customers.csv"
    file.write_text("email,name\na@example.com,Ada\n", encoding="utf-8")
    with pytest.raises(CommandError, match=reason.replace(".", r"\.")):
        run(grant.organization, "customers", file, option)
    assert not Customer.objects.exists()


def test_the_command_writes_the_refused_rows_and_imports_the_others(
    grant: Grant, tmp_path: Path
) -> None:
    file, kept = tmp_path / "customers.csv", tmp_path / "refused.csv"
    file.write_text("email,Size\na@example.com,1\nnone,2\n", encoding="utf-8")
    said = run(
        grant.organization, "customers", file, "--leave-out-others", f"--refused-rows={kept}"
    )
    assert "1 added, 0 changed, 0 unchanged." in said
    assert "Line 3, email: Enter an email address." in said
    assert "none,2,3,email: Enter an email address." in kept.read_text(encoding="utf-8-sig")
    assert Customer.objects.count() == 1


def test_a_file_with_a_question_stays_as_it_is_when_it_is_confirmed(
    admin: Client, grant: Grant
) -> None:
    upload(admin, grant.organization, "email,phone\na@example.com,1\n")
    uploads.work(newest().pk)
    assert "Needs your choices" in confirm(admin)
    assert not Customer.objects.exists()
