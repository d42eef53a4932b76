"""Files of customers, through the admin's page and the command: everything of a file or nothing."""

from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from tests.drivers.grants import Grant, granted
from tests.workspace.desk import send, words
from workspace import customer_file, customers
from workspace.customer_file import Unusable
from workspace.models import Customer, User

HEAD = "external_id,email,name,hubspot,stripe\n"
ADA = "user-1,Ada@Example.com,Ada,151,cus_Ada\n"


@pytest.fixture
def admin(client: Client, db: None) -> Client:  # noqa: ARG001  asked for: it opens the database
    client.force_login(User.objects.create_superuser("root@example.com"))
    return client


def all_of(grant: Grant) -> list[tuple[Any, ...]]:
    rows = Customer.objects.filter(organization=grant.organization).order_by("created_at", "pk")
    return [(one.external_id, one.email, one.name, one.vendor_ids) for one in rows]


ADA_KEPT = ("user-1", "Ada@Example.com", "Ada", {"hubspot": "151", "stripe": "cus_Ada"})
SPELLINGS = {
    "plain": (HEAD + ADA).encode(),
    "byte order mark": b"\xef\xbb\xbf" + (HEAD + ADA).encode(),
    "CRLF": (HEAD + ADA).replace("\n", "\r\n").encode(),
    "no last line break": (HEAD + ADA).strip().encode(),
    "semicolons": (HEAD + ADA).replace(",", ";").encode(),
    "quoted": (HEAD + '"user-1","Ada@Example.com","Ada",151,"cus_Ada"\n').encode(),
    "spaces": (HEAD + " user-1 , Ada@Example.com , Ada ,151, cus_Ada \n").encode(),
    "capitals": (HEAD.upper() + ADA).encode(),
    "empty lines": (HEAD + "\n,,,,\n" + ADA + "\n").encode(),
    "another order": b"name,stripe,email,hubspot,external_id\n"
    b"Ada,cus_Ada,Ada@Example.com,151,user-1\n",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_file_is_read_however_a_spreadsheet_writes_it(
    admin: Client, grant: Grant, spelling: str
) -> None:
    assert "1 added" in words(send(admin, grant.organization, SPELLINGS[spelling]))
    assert all_of(grant) == [ADA_KEPT]
    assert customers.bound(grant.organization.pk, email="ada@example.com") is not None


def test_the_same_file_again_changes_nothing(admin: Client, grant: Grant) -> None:
    send(admin, grant.organization, HEAD + ADA)
    before = list(Customer.objects.values())
    page = send(admin, grant.organization, HEAD + ADA)
    assert "0 added, 0 changed, 1 as they were" in words(page)
    assert list(Customer.objects.values()) == before


def test_a_row_changes_the_customer_with_its_external_id(admin: Client, grant: Grant) -> None:
    kept = grant.customer(external_id="user-1", email="old@example.com", name="Old")
    page = send(admin, grant.organization, HEAD + ADA)
    assert "0 added, 1 changed" in words(page)
    assert all_of(grant) == [ADA_KEPT]
    found = customers.bound(grant.organization.pk, email="ada@example.com")
    assert found is not None
    assert found.id == kept.pk
    assert customers.bound(grant.organization.pk, email="old@example.com") is None


def test_a_row_without_an_external_id_changes_the_only_one_with_its_address(
    admin: Client, grant: Grant
) -> None:
    grant.customer(external_id="user-1", email="ada@example.com")
    send(admin, grant.organization, "email,name\nADA@example.com,Ada\n")
    assert all_of(grant) == [("user-1", "ADA@example.com", "Ada", {})]


def test_a_customer_known_by_address_only_gets_the_external_id(admin: Client, grant: Grant) -> None:
    grant.customer(email="ada@example.com", name="Ada")
    send(admin, grant.organization, "external_id,email\nuser-1,ada@example.com\n")
    assert all_of(grant) == [("user-1", "ada@example.com", "Ada", {})]


def test_with_another_external_id_it_is_somebody_else_with_the_same_address(
    admin: Client, grant: Grant
) -> None:
    grant.customer(external_id="user-1", email="desk@example.com")
    rows = "external_id,email\nuser-2,desk@example.com\nuser-3,desk@example.com\n"
    assert "2 added, 0 changed" in words(send(admin, grant.organization, rows))
    assert {row[0] for row in all_of(grant)} == {"user-1", "user-2", "user-3"}


def test_an_empty_cell_and_a_missing_column_change_nothing(admin: Client, grant: Grant) -> None:
    send(admin, grant.organization, HEAD + ADA)
    send(admin, grant.organization, "external_id,name,stripe\nuser-1,,\n")
    assert all_of(grant) == [ADA_KEPT]
    send(admin, grant.organization, "external_id,stripe\nuser-1,cus_New\n")
    assert all_of(grant)[0][3] == {"hubspot": "151", "stripe": "cus_New"}


def test_customers_of_other_organizations_are_neither_seen_nor_touched(
    admin: Client, grant: Grant
) -> None:
    others = granted()
    others.customer(external_id="user-1", email="ada@example.com", name="Theirs")
    before = all_of(others)
    assert "1 added" in words(send(admin, grant.organization, HEAD + ADA))
    assert all_of(others) == before


BAD_ROWS = {
    "user-1,,,,\nuser-1,,,,\n": "Line 3: The external_id stands on line 2 already.",
    ",a@example.com,,,\n,A@example.com,,,\n": "Line 3: The email stands on line 2 too.",
    "1,a@example.com,,,\n,a@example.com,,,\n": "Line 3: The email stands on line 2 too.",
    ",a@example.com,,,\n1,a@example.com,,,\n": "Line 2: The email stands on line 3 too.",
    ",,Ada,,\n": "Line 2: Neither external_id nor email.",
    "1,nobody,,,\n": "Line 2: email is no e-mail address.",
    "1,a @example.com,,,\n": "Line 2: email is no e-mail address.",
    f"1,{'a' * 250}@example.com,,,\n": "Line 2: email is longer than 254 characters.",
    f"{'1' * 201},,,,\n": "Line 2: external_id is longer than 200 characters.",
    f"1,,{'n' * 201},,\n": "Line 2: name is longer than 200 characters.",
    "1,,,abc,\n": "Line 2: hubspot is no id of that vendor.",
    "1,,,,sub_1\n": "Line 2: stripe is no id of that vendor.",
    "1,,a\0b,,\n": "Line 2: name holds a line break or another control character.",
    '1,,"a\nb",,\n': "Line 3: name holds a line break or another control character.",
    "1,,\n": "Line 2: 3 cells under 5 columns.",
    "1,,,,,\n": "Line 2: 6 cells under 5 columns.",
    '1,,"open,,\n': "This is no CSV",
    '1,,"a"b,,\n': "Line 2: This is no CSV",
}


@pytest.mark.parametrize("rows", BAD_ROWS, ids=lambda rows: BAD_ROWS[rows])
def test_a_bad_row_is_named_and_nothing_is_imported(admin: Client, grant: Grant, rows: str) -> None:
    page = words(send(admin, grant.organization, HEAD + rows))
    assert BAD_ROWS[rows] in page
    assert "Nothing was imported." in page
    assert not Customer.objects.exists()


BAD_FILES: dict[str, tuple[bytes, str]] = {
    "Latin-1": (b"email,name\nada@example.com,Zo\xeb\n", "The file is not UTF-8."),
    "UTF-16": ("email\nada@example.com\n".encode("utf-16"), "The file is not UTF-8."),
    "no such column": (b"email,phone\n", "Line 1: There is no column &#x27;phone&#x27;."),
    "a column twice": (b"email,email\n", "Line 1: A column stands there twice."),
    "nothing to tell by": (b"name,stripe\n", "A column external_id or email is needed."),
    "no header": (b"ada@example.com,Ada\n", "Line 1: There is no column"),
    "only line breaks": (b"\n\n", "A column external_id or email is needed."),
    "too large": (b"email\n" + b"x" * 1_000_000, "The file is larger than 1000000 bytes."),
    "too many rows": (b"external_id\n" + b"1\n" * 10_001, "more than 10000 rows"),
    "one long cell": (b"email\n" + b"x" * 200_000, "This is no CSV: field larger than"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_cannot_be_read_is_refused_with_its_reason(
    admin: Client, grant: Grant, name: str
) -> None:
    data, told = BAD_FILES[name]
    page = send(admin, grant.organization, data)
    assert told in page.content.decode()
    assert not Customer.objects.exists()


def test_one_bad_row_keeps_all_good_ones_out(admin: Client, grant: Grant) -> None:
    rows = "".join(f"{number},,,,\n" for number in range(100))
    send(admin, grant.organization, f"{HEAD}{rows}100,nobody,,,\n")
    assert not Customer.objects.exists()


def test_every_bad_row_is_told_up_to_a_page_full(admin: Client, grant: Grant) -> None:
    page = words(send(admin, grant.organization, HEAD + "1,nobody,,,\n" * 60))
    assert "Line 51: email" in page
    assert "Line 52: email" not in page
    assert "And 10 more." in page


def test_an_address_of_several_customers_names_none_of_them(admin: Client, grant: Grant) -> None:
    for number in "12":
        grant.customer(external_id=number, email="desk@example.com")
    before = all_of(grant)
    page = words(send(admin, grant.organization, "email,name\ndesk@example.com,Ada\n"))
    assert "Line 2: Several customers have this email. Give the external_id." in page
    assert all_of(grant) == before


def test_two_rows_that_mean_one_customer_are_told(admin: Client, grant: Grant) -> None:
    grant.customer(external_id="user-1", email="old@example.com")
    rows = "external_id,email\nuser-1,new@example.com\n,old@example.com\n"
    page = words(send(admin, grant.organization, rows))
    assert "Line 3: This is the same customer as on line 2." in page
    assert all_of(grant) == [("user-1", "old@example.com", "", {})]


def test_as_many_rows_as_a_file_may_have_are_taken(admin: Client, grant: Grant) -> None:
    rows = "".join(f"{number},c{number}@example.com\n" for number in range(10_000))
    data = f"external_id,email\n{rows}"
    assert "10000 added" in words(send(admin, grant.organization, data))
    found = customers.bound(grant.organization.pk, email="C9999@example.com")
    assert found is not None
    assert found.external_id == "9999"


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8")))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for content in (data, HEAD.encode() + data):
        with suppress(Unusable):
            entries = customer_file.parse(content)
            assert all(entry.external_id or entry.email for entry in entries)


def run(grant: Grant, file: Path) -> str:
    printed = StringIO()
    call_command("import_customers", grant.organization.slug, str(file), stdout=printed)
    return printed.getvalue()


def test_the_command_imports_as_the_page_does(grant: Grant, tmp_path: Path) -> None:
    file = tmp_path / "customers.csv"
    file.write_text(HEAD + ADA, encoding="utf-8")
    assert run(grant, file) == "1 added, 0 changed, 0 as they were.\n"
    assert all_of(grant) == [ADA_KEPT]


def test_the_command_names_every_bad_line(grant: Grant, tmp_path: Path) -> None:
    file = tmp_path / "customers.csv"
    file.write_text(HEAD + ADA + "2,nobody,,,\n3,nobody,,,\n", encoding="utf-8")
    with pytest.raises(CommandError) as told:
        run(grant, file)
    assert "Nothing was imported.\nLine 3: email" in str(told.value)
    assert "\nLine 4: email" in str(told.value)
    assert all_of(grant) == []


def test_the_command_says_what_it_cannot_find(grant: Grant, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be read: No such file"):
        run(grant, tmp_path / "nothing.csv")
    with pytest.raises(CommandError, match="No organization has the short name 'nowhere'"):
        call_command("import_customers", "nowhere", str(tmp_path / "nothing.csv"))
