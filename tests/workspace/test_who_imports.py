"""Who may import files in the admin, and the command that imports them."""

from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command
from django.test import Client

from customers.imports import uploads
from foundation.admin_urls import row_url
from tests.drivers.grants import Grant, make_grant
from tests.workspace.customer_pages import (
    COMPANIES,
    CUSTOMERS,
    EMAILS,
    IMPORTS,
    TICKETS,
    UPLOAD,
    check,
    send,
    upload,
    words,
)
from workspace.models import (
    Company,
    DataImport,
    ImportStatus,
    Role,
    User,
)


@pytest.fixture
def admin(client: Client, db: None) -> Client:  # noqa: ARG001  asked for: it opens the database
    client.force_login(User.objects.create_superuser("root@example.com"))
    return client


def newest() -> DataImport:
    return DataImport.objects.latest("created_at")


# --- Who may --------------------------------------------------------------------------------------


def clerk(*rights: str) -> Client:
    """The browser of a staff account with these permissions over imports."""
    user = User.objects.create_user("clerk@example.com", is_staff=True)
    names = [f"{right}_dataimport" for right in rights]
    user.user_permissions.set(
        Permission.objects.filter(codename__in=[*names, "view_customer", "change_customer"])
    )
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize("rights", [(), ("view",), ("view", "delete")], ids=str)
def test_only_who_may_add_imports_does(
    admin: Client, grant: Grant, rights: tuple[str, ...]
) -> None:
    check(admin, grant.organization, EMAILS + "1,a@example.com\n")
    desk = clerk(*rights)
    assert desk.get(UPLOAD).status_code == 403
    assert upload(desk, grant.organization, EMAILS + "1,\n").status_code == 403
    assert desk.get(f"{IMPORTS}template/customers/").status_code == 403
    assert UPLOAD not in desk.get(CUSTOMERS).content.decode()
    answer = desk.post(row_url(newest(), "confirm"))
    assert answer.status_code == (403 if rights else 404)
    assert newest().status == ImportStatus.READY


def test_staff_who_may_import_do(grant: Grant) -> None:
    desk = clerk("view", "add")
    assert f"{UPLOAD}?kind=customers" in desk.get(CUSTOMERS).content.decode()
    assert "1 new" in words(send(desk, grant.organization, EMAILS + "1,a@example.com\n"))


def test_an_organization_s_admin_imports_into_it_and_sees_no_other_s(
    admin: Client, grant: Grant
) -> None:
    others = make_grant()
    check(admin, others.organization, EMAILS + "1,theirs@example.com\n")
    theirs = newest()
    grant.membership.role = Role.ADMIN
    grant.membership.save()
    own = Client()
    own.force_login(grant.user)
    assert "1 new" in words(send(own, grant.organization, EMAILS + "1,a@example.com\n"))
    refused = upload(own, others.organization, EMAILS + "2,\n")
    assert "Select a valid choice" in words(refused)
    assert "customers.csv" in words(own.get(IMPORTS))
    random = DataImport(pk="imp_nobody")
    for page, post in (("change", False), ("confirm", True), ("refused", False), ("delete", True)):
        ask = own.post if post else own.get
        one, other = ask(row_url(theirs, page)), ask(row_url(random, page))
        assert (one.status_code, one.headers.get("Location")) == (
            other.status_code,
            other.headers.get("Location"),
        )
        assert one.status_code in {302, 404}
    theirs.refresh_from_db()
    assert theirs.status == ImportStatus.READY


def test_an_import_that_runs_is_not_deleted(admin: Client, grant: Grant) -> None:
    upload(admin, grant.organization, EMAILS + "1,\n")
    assert admin.post(row_url(newest(), "delete"), {"post": "yes"}).status_code == 403
    uploads.work(newest().pk)
    assert admin.post(row_url(newest(), "delete"), {"post": "yes"}).status_code == 302
    assert not DataImport.objects.exists()


@pytest.mark.usefixtures("db")
def test_a_stranger_is_sent_to_sign_in() -> None:
    answer = Client().post(UPLOAD)
    assert (answer.status_code, "login" in answer["Location"]) == (302, True)


def test_a_form_that_is_not_filled_in_says_so(admin: Client) -> None:
    assert words(admin.post(UPLOAD, {})).count("This field is required.") == 3
    nowhere = {"organization": "0190a0a0-0000-7000-8000-000000000000", "kind": "users"}
    assert words(admin.post(UPLOAD, nowhere)).count("Select a valid choice") == 2
    assert "Null characters" in words(admin.post(UPLOAD, {"organization": "\0"}))
    assert "Import a file" in words(admin.get(UPLOAD))


@pytest.mark.parametrize("key", ["imp_nobody", "_00", "x" * 300])
@pytest.mark.parametrize("page", ["change", "confirm", "refused"])
def test_the_page_of_no_import_is_an_answer(admin: Client, key: str, page: str) -> None:
    assert admin.get(f"{IMPORTS}{key}/{page}/").status_code in {302, 400, 404}


# --- The command ----------------------------------------------------------------------------------


def run(grant: Grant, file: Path, kind: str) -> str:
    printed = StringIO()
    given = ["--organization", grant.organization.slug, "--kind", kind, str(file)]
    call_command("import_data", *given, stdout=printed)
    return printed.getvalue()


def test_the_command_imports_each_kind(grant: Grant, tmp_path: Path) -> None:
    grant.customer(external_id="user-1")
    for kind, data in (("companies", COMPANIES), ("tickets", TICKETS)):
        file = tmp_path / f"{kind}.csv"
        file.write_text(data, encoding="utf-8")
        assert run(grant, file, kind).endswith("1 added, 0 changed, 0 unchanged.\n")
        assert run(grant, file, kind).endswith("0 added, 0 changed, 1 unchanged.\n")
        assert (newest().file_name, newest().status) == (file.name, ImportStatus.DONE)


def test_the_command_names_every_refused_cell(grant: Grant, tmp_path: Path) -> None:
    file = tmp_path / "companies.csv"
    file.write_text("external_id,mrr\na,1\nb,x\n", encoding="utf-8")
    with pytest.raises(CommandError, match=r"Nothing was imported\.\nLine 3, mrr: Enter a number"):
        run(grant, file, "companies")
    assert not Company.objects.exists()
    assert not DataImport.objects.exists()
