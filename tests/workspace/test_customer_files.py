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

from customers import customers
from customers.imports import passes, reading, uploads
from customers.imports.choices import Choices
from customers.imports.columns import Row, Unusable
from customers.imports.customers import KIND
from customers.imports.inspection import inspect
from foundation.db import storable
from tests.drivers.grants import Grant, make_grant
from tests.workspace.customer_pages import send, words
from workspace.models import Customer, Organization, User

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
    assert "Imported 1 rows 1 new" in words(send(admin, grant.organization, SPELLINGS[spelling]))
    assert all_of(grant) == [ADA_KEPT]
    assert customers.find_bound(grant.organization.pk, email="ada@example.com") is not None


def test_the_same_file_again_changes_nothing(admin: Client, grant: Grant) -> None:
    send(admin, grant.organization, HEAD + ADA)
    before = list(Customer.objects.values())
    page = send(admin, grant.organization, HEAD + ADA)
    assert "0 new 0 changed 1 unchanged 0 refused" in words(page)
    assert list(Customer.objects.values()) == before


def test_a_row_changes_the_customer_with_its_external_id(admin: Client, grant: Grant) -> None:
    kept = grant.customer(external_id="user-1", email="old@example.com", name="Old")
    page = send(admin, grant.organization, HEAD + ADA)
    assert "0 new 1 changed" in words(page)
    assert all_of(grant) == [ADA_KEPT]
    found = customers.find_bound(grant.organization.pk, email="ada@example.com")
    assert found is not None
    assert found.id == kept.pk
    assert customers.find_bound(grant.organization.pk, email="old@example.com") is None


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


def test_with_another_external_id_it_is_another_customer_with_the_same_address(
    admin: Client, grant: Grant
) -> None:
    grant.customer(external_id="user-1", email="desk@example.com")
    rows = "external_id,email\nuser-2,desk@example.com\nuser-3,desk@example.com\n"
    assert "2 new 0 changed" in words(send(admin, grant.organization, rows))
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
    others = make_grant()
    others.customer(external_id="user-1", email="ada@example.com", name="Theirs")
    before = all_of(others)
    assert "1 new" in words(send(admin, grant.organization, HEAD + ADA))
    assert all_of(others) == before


BAD_ROWS = {
    "user-1,,,,\nuser-1,,,,\n": "3 external_id It is already used on line 2.",
    ",a@example.com,,,\n,A@example.com,,,\n": "3 email It is also used on line 2.",
    "1,a@example.com,,,\n,a@example.com,,,\n": "3 email It is also used on line 2.",
    ",a@example.com,,,\n1,a@example.com,,,\n": "3 email It is also used on line 2.",
    ",,Ada,,\n": "2 Enter an external_id or an email.",
    "1,nobody,,,\n": "2 email Enter an email address.",
    "1,a @example.com,,,\n": "2 email Enter an email address.",
    f"1,{'a' * 250}@example.com,,,\n": "2 email Enter at most 254 characters.",
    f"{'1' * 201},,,,\n": "2 external_id Enter at most 200 characters.",
    f"1,,{'n' * 201},,\n": "2 name Enter at most 200 characters.",
    "1,,,abc,\n": "2 hubspot This is not a valid id.",
    "1,,,,sub_1\n": "2 stripe This is not a valid id.",
    "1,,a\0b,,\n": "2 name Remove the line break or other control character.",
    '1,,"a\nb",,\n': "3 name Remove the line break or other control character.",
    "1,,,,,x\n": "2 The row has 6 cells; expected 5.",
    '1,,"open,,\n': "This is not a CSV file",
    '1,,"a"b,,\n': "2 This is not a CSV file",
}


@pytest.mark.parametrize("rows", BAD_ROWS, ids=lambda rows: BAD_ROWS[rows])
def test_a_bad_row_is_named_and_nothing_is_imported(admin: Client, grant: Grant, rows: str) -> None:
    page = words(send(admin, grant.organization, HEAD + rows))
    assert BAD_ROWS[rows] in page
    assert "Nothing was imported." in page
    assert not Customer.objects.exists()


BAD_FILES: dict[str, tuple[bytes, str]] = {
    "Latin-1": (b"email,name\nada@example.com,Zo\xeb\n", "The file is not UTF-8."),
    "no such column": (b"email,phone\n", "phone Leave out"),
    "no name": (b"email,\na,b\n", "The column has no name."),
    "a column twice": (b"email,email\n", "“email” is email already."),
    "a custom field twice": (b"email,custom.a,custom.a\n", "“custom.a” is custom.a already."),
    "a custom field with the name of a column": (
        b"email,custom.plan\n",
        "No column has this name.",
    ),
    "nothing to tell by": (b"name,stripe\n", "A column external_id or email is required."),
    "no header": (b"ada@example.com,Ada\n", "A column external_id or email is required."),
    "only line breaks": (b"\n\n", "A column external_id or email is required."),
    "no rows": (b"email,name\n", "The file has no rows."),
    "too large": (b"email\n" + b"x" * reading.MAX_BYTES, "The file is larger than 16 MB."),
    "too many columns": (b"a," * 300 + b"email\n", "The file has more than 200 columns."),
    "one long cell": (b"email\n" + b"x" * 200_000, "A cell is longer than 131,072 characters."),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_cannot_be_read_is_refused_with_its_reason(
    admin: Client, grant: Grant, name: str
) -> None:
    data, message = BAD_FILES[name]
    page = send(admin, grant.organization, data)
    assert message in words(page)
    assert not Customer.objects.exists()


def test_a_file_with_too_many_rows_is_refused(
    admin: Client, grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_ROWS", 3)
    ok = "external_id\n1\n2\n3\n"
    assert "more than 3 rows" in words(send(admin, grant.organization, f"{ok}4\n"))
    assert not Customer.objects.exists()
    assert "3 new" in words(send(admin, grant.organization, ok))


def test_one_bad_row_keeps_all_good_ones_out(admin: Client, grant: Grant) -> None:
    rows = "".join(f"{number},,,,\n" for number in range(100))
    send(admin, grant.organization, f"{HEAD}{rows}100,nobody,,,\n")
    assert not Customer.objects.exists()


def test_every_bad_row_is_reported_up_to_a_page_full(admin: Client, grant: Grant) -> None:
    page = words(send(admin, grant.organization, HEAD + "1,nobody,,,\n" * 60))
    # The external id is refused too, from the second row.
    assert "51 email" in page
    assert "52 email" not in page
    assert "10 more problems." in page


def test_an_address_of_several_customers_names_none_of_them(admin: Client, grant: Grant) -> None:
    for number in "12":
        grant.customer(external_id=number, email="desk@example.com")
    before = all_of(grant)
    page = words(send(admin, grant.organization, "email,name\ndesk@example.com,Ada\n"))
    assert "2 email Several customers have this email. Enter the external_id." in page
    assert all_of(grant) == before


def test_two_rows_that_mean_one_customer_are_reported(admin: Client, grant: Grant) -> None:
    grant.customer(external_id="user-1", email="old@example.com")
    rows = "external_id,email\nuser-1,new@example.com\n,old@example.com\n"
    page = words(send(admin, grant.organization, rows))
    assert "3 This row and line 2 are the same customer." in page
    assert all_of(grant) == [("user-1", "old@example.com", "", {})]


def test_rows_of_several_batches_are_one_file(admin: Client, grant: Grant) -> None:
    rows = "".join(f"{number},c{number}@example.com\n" for number in range(1, 1_201))
    head = "external_id,email\n"
    page = words(send(admin, grant.organization, f"{head}{rows}7,\n"))
    assert "1202 external_id It is already used on line 8." in page
    assert not Customer.objects.exists()
    assert "1,200 new" in words(send(admin, grant.organization, head + rows))
    found = customers.find_bound(grant.organization.pk, email="C1199@example.com")
    assert found is not None
    assert found.external_id == "1199"


# Before each file: a customer with the address a@ only, and number 5 with the address b@.
REPEATED = {
    "1,a@example.com\n2,a@example.com\n": "1 added, 1 changed",
    "2,a@example.com\n1,a@example.com\n3,c@example.com\n": "2 added, 1 changed",
    "5,a@example.com\n2,a@example.com\n": "0 added, 2 changed",
    "5,a@example.com\n,b@example.com\n": "3: This row and line 2 are the same customer.",
    "5,c@example.com\n2,b@example.com\n": "1 added, 1 changed",
    "1,c@example.com\n,c@example.com\n": "3, email: It is also used on line 2.",
    ",a@example.com\n1,a@example.com\n": "3, email: It is also used on line 2.",
}


@pytest.mark.parametrize("rows", REPEATED)
@pytest.mark.parametrize("batch", [1, 500])
@pytest.mark.parametrize("judge", [passes.check, passes.store])
def test_a_row_means_the_same_wherever_in_the_file_it_is(
    grant: Grant, monkeypatch: pytest.MonkeyPatch, rows: str, batch: int, judge: Any
) -> None:
    monkeypatch.setattr(passes, "BATCH", batch)
    grant.customer(email="a@example.com")
    grant.customer(external_id="5", email="b@example.com")
    data = f"external_id,email\n{rows}".encode()
    inspected = uploads.inspect(grant.organization, "customers", data)
    try:
        outcome = judge(grant.organization, inspected, lambda _rows: None)
    except Unusable as unusable:
        outcome = passes.ImportOutcome(problems=[*unusable.problems])
    assert REPEATED[rows] in f"{outcome} {' '.join(map(str, outcome.problems))}"


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8")))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for content in (data, HEAD.encode() + data):
        with suppress(Unusable):
            found = inspect(Organization(), KIND, content, Choices(leaves_out_others=True), {})
            guesses = [guess.as_json() for guess in found.guesses]
            assert not storable.has_unstorable_text([guesses, [*map(str, found.problems)]])
            for row in [] if found.questions or found.problems else found.read_rows():
                read = row.read
                assert not isinstance(read, Row) or read.text("external_id") or read.text("email")


def run(grant: Grant, file: Path) -> str:
    printed = StringIO()
    call_command("import_customers", grant.organization.slug, str(file), stdout=printed)
    return printed.getvalue()


def test_the_command_imports_as_the_page_does(grant: Grant, tmp_path: Path) -> None:
    file = tmp_path / "customers.csv"
    file.write_text(HEAD + ADA, encoding="utf-8")
    assert run(grant, file).endswith("\n1 added, 0 changed, 0 unchanged.\n")
    assert all_of(grant) == [ADA_KEPT]


def test_the_command_names_every_bad_line(grant: Grant, tmp_path: Path) -> None:
    file = tmp_path / "customers.csv"
    file.write_text(HEAD + ADA + "2,nobody,,,\n3,nobody,,,\n", encoding="utf-8")
    with pytest.raises(CommandError) as message:
        run(grant, file)
    assert "Nothing was imported.\nLine 3, email: Enter" in str(message.value)
    assert "\nLine 4, email: Enter" in str(message.value)
    assert all_of(grant) == []


def test_the_command_says_what_it_cannot_find(grant: Grant, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be read: No such file"):
        run(grant, tmp_path / "nothing.csv")
    with pytest.raises(CommandError, match="No organization has the short name 'nowhere'"):
        call_command("import_customers", "nowhere", str(tmp_path / "nothing.csv"))
