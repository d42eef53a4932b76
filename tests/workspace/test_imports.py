"""Files of companies and tickets, and the steps of an import: check, preview, confirm, report."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from customers import tasks
from customers.administration.imports import DataImportAdmin
from customers.imports import passes, uploads
from foundation.admin_urls import row_url
from tests.drivers.grants import Grant, make_grant
from tests.drivers.sent_tasks import run_with_sent
from tests.workspace.customer_pages import (
    COMPANIES,
    EMAILS,
    IMPORTS,
    TICKETS,
    check,
    send,
    upload,
    words,
)
from workspace import document_claims
from workspace.models import (
    Company,
    Customer,
    DataImport,
    ImportStatus,
    Organization,
    Ticket,
    TicketMessage,
    User,
)


@pytest.fixture
def admin(client: Client, db: None) -> Client:  # noqa: ARG001  asked for: it opens the database
    client.force_login(User.objects.create_superuser("root@example.com"))
    return client


def newest() -> DataImport:
    return DataImport.objects.latest("created_at")


def stored_rows(model: Any, organization: Organization) -> list[dict[str, Any]]:
    return list(model.objects.filter(organization=organization).order_by("pk").values())


# --- Companies and tickets ------------------------------------------------------------------------


def test_a_company_is_stored_with_typed_values_and_custom_fields(
    admin: Client, grant: Grant
) -> None:
    assert "1 new" in words(send(admin, grant.organization, COMPANIES, "companies"))
    company = Company.objects.get()
    assert (company.external_id, company.name, company.domain) == ("acme", "Acme", "acme.example")
    assert (company.mrr, company.on_contract) == (Decimal("1499.90"), True)
    assert str(company.renewal_date) == "2027-01-31"
    assert company.custom_fields == {"Tier": "gold"}


def test_a_row_changes_the_company_with_its_external_id(admin: Client, grant: Grant) -> None:
    send(admin, grant.organization, COMPANIES, "companies")
    rows = "external_id,name,mrr,custom.Seats\nacme,,1600,12\nnew,New,,\n"
    assert "1 new 1 changed" in words(send(admin, grant.organization, rows, "companies"))
    company = Company.objects.get(external_id="acme")
    assert (company.name, company.mrr) == ("Acme", Decimal(1600))
    assert company.custom_fields == {"Tier": "gold", "Seats": "12"}


def test_a_customer_is_put_into_its_company_with_its_traits(admin: Client, grant: Grant) -> None:
    send(admin, grant.organization, COMPANIES, "companies")
    rows = (
        "external_id,company_id,lifecycle,plan,signed_up_at\nuser-1,acme,Churned,pro,2026-01-31\n"
    )
    send(admin, grant.organization, rows)
    customer = Customer.objects.get()
    assert customer.company == Company.objects.get()
    assert (customer.lifecycle, customer.plan) == ("churned", "pro")
    assert customer.churned_at is not None
    assert customer.signed_up_at == datetime(2026, 1, 31, tzinfo=UTC)


def test_a_ticket_is_stored_with_its_customer_and_first_message(
    admin: Client, grant: Grant
) -> None:
    customer = grant.customer(external_id="user-1", name="Ada")
    assert "1 new" in words(send(admin, grant.organization, TICKETS, "tickets"))
    ticket = Ticket.objects.get()
    assert (ticket.external_id, ticket.subject, ticket.status) == (
        "T-1",
        "Export fails",
        "resolved",
    )
    assert (ticket.customer, ticket.metadata) == (customer, {"browser": "Firefox"})
    assert ticket.created_at == datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
    assert ticket.resolved_at == datetime(2026, 3, 3, tzinfo=UTC)
    message = TicketMessage.objects.get()
    assert (message.text, message.author_name) == ("Nothing happens.\nPlease help.", "Ada")
    assert (ticket.message_count, ticket.last_message_at) == (1, ticket.created_at)


def test_a_ticket_is_assigned_and_reopened_by_a_later_file(admin: Client, grant: Grant) -> None:
    grant.customer(external_id="user-1")
    send(admin, grant.organization, TICKETS, "tickets")
    rows = f"external_id,subject,status,assignee\nT-1,Export fails,open,{grant.user.email}\n"
    assert "0 new 1 changed" in words(send(admin, grant.organization, rows, "tickets"))
    ticket = Ticket.objects.get()
    assert (ticket.status, ticket.resolved_at, ticket.assignee) == ("open", None, grant.user)


@pytest.mark.parametrize(
    ("kind", "data", "model"),
    [("companies", COMPANIES, Company), ("tickets", TICKETS, Ticket)],
    ids=["companies", "tickets"],
)
def test_the_same_file_twice_changes_nothing(
    admin: Client, grant: Grant, kind: str, data: str, model: Any
) -> None:
    grant.customer(external_id="user-1")
    send(admin, grant.organization, data, kind)
    before = stored_rows(model, grant.organization)
    page = words(send(admin, grant.organization, data, kind))
    assert "0 new 0 changed 1 unchanged 0 refused" in page
    assert stored_rows(model, grant.organization) == before
    assert TicketMessage.objects.count() == (kind == "tickets")


REFUSED = {
    ("companies", "external_id,name\n,Acme\n"): "Enter an external_id.",
    ("companies", "external_id\na\na\n"): "3 external_id It is already used on line 2.",
    ("companies", "external_id,mrr\na,1 00\n"): "2 mrr Enter a number such as 49.90",
    ("companies", "external_id,mrr\na,-1\n"): "2 mrr Enter a number from 0",
    ("companies", "external_id,employee_count\na,1.5\n"): "2 employee_count Enter a whole number",
    ("companies", "external_id,on_contract\na,perhaps\n"): "2 on_contract Enter true or false.",
    ("companies", "external_id,renewal_date\na,31.1.\n"): "2 renewal_date Enter a date",
    ("companies", "external_id,contract_term\na,weekly\n"): "2 contract_term Enter one of",
    ("companies", "external_id,health_score\na,101\n"): "2 health_score Enter a whole number from",
    ("companies", "external_id,team_size\na,5\n"): "team_size Leave out",
    ("companies", f"external_id,custom.a\na,{'x' * 10_001}\n"): "2 custom.a Enter at most 10000",
    ("customers", "email,company_id\na@example.com,x\n"): "2 company_id No company has this",
    ("customers", "email,signed_up_at\na@example.com,soon\n"): "2 signed_up_at Enter a time",
    ("tickets", "external_id\nT-1\n"): "A column subject is required.",
    ("tickets", "external_id,subject\nT-1,\n"): "2 subject Enter a value.",
    ("tickets", "external_id,subject,customer_id\nT-1,a,x\n"): "2 customer_id No customer has",
    ("tickets", "external_id,subject,assignee\nT-1,a,b@example.com\n"): "2 assignee No member",
    ("tickets", "external_id,subject,status\nT-1,a,done\n"): "2 status Enter one of open",
    ("tickets", "external_id,subject,resolved_at\nT-1,a,2026-03-03\n"): "2 resolved_at Enter it",
    ("tickets", "external_id,subject,created_at\nT-1,a,2199-01-01\n"): "2 created_at It is in",
    (
        "tickets",
        "external_id,subject,status,created_at,resolved_at\nT-1,a,resolved,2026-03-03,2026-03-02\n",
    ): "2 resolved_at It is before",
    ("tickets", 'external_id,subject,message\nT-1,a,"b\0"\n'): "2 message Remove the",
}


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: REFUSED[case])
def test_a_refused_cell_is_named_and_nothing_is_stored(
    admin: Client, grant: Grant, case: tuple[str, str]
) -> None:
    kind, data = case
    page = words(send(admin, grant.organization, data, kind))
    assert REFUSED[case] in page
    for model in (Company, Customer, Ticket):
        assert stored_rows(model, grant.organization) == []


def test_what_a_file_refers_to_is_of_its_own_organization(admin: Client, grant: Grant) -> None:
    others = make_grant()
    others.customer(external_id="user-1")
    page = words(send(admin, grant.organization, TICKETS, "tickets"))
    assert "3 customer_id No customer has this external id." in page
    rows = f"external_id,subject,assignee\nT-1,a,{others.user.email}\n"
    assert "No member of the organization" in words(
        send(admin, grant.organization, rows, "tickets")
    )


# --- Check, preview, confirmation -----------------------------------------------------------------


def test_the_preview_shows_the_first_rows_and_stores_nothing(admin: Client, grant: Grant) -> None:
    grant.customer(external_id="1", email="a@example.com")
    rows = "".join(f"{number},C{number}@example.com\n" for number in range(1, 21))
    page = words(check(admin, grant.organization, EMAILS + rows))
    assert "Ready to import 20 rows 19 new 1 changed 0 unchanged 0 refused" in page
    assert "2 changed 1 C1@example.com" in page
    assert "11 new 10 C10@example.com" in page
    assert "C11@example.com" not in page
    assert Customer.objects.count() == 1


def test_a_file_that_waits_shows_its_progress(admin: Client, grant: Grant) -> None:
    upload(admin, grant.organization, EMAILS + "1,\n2,\n3,\n")
    page = admin.get(row_url(newest()))
    assert "Waiting to be checked" in words(page)
    assert "0 of about 3 rows" in words(page)
    assert "data-running" in page.content.decode()
    assert "import_progress" in page.content.decode()


def test_a_check_that_ends_while_its_page_is_made_leaves_the_page_consistent(
    admin: Client, grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(admin, grant.organization, EMAILS + "1,a@example.com\n")
    read = DataImportAdmin.get_object

    def work_and_read(*given: Any, **more: Any) -> Any:
        uploads.work(newest().pk)
        return read(*given, **more)

    monkeypatch.setattr(DataImportAdmin, "get_object", work_and_read)
    page = admin.get(row_url(newest())).content.decode()
    assert newest().status == ImportStatus.READY
    # Running: the page is loaded again soon. It must not say that all is done before that.
    assert "data-running" in page
    assert "Waiting to be checked" in page
    assert "Ready to import" not in page


def test_confirming_twice_imports_once(admin: Client, grant: Grant) -> None:
    check(admin, grant.organization, EMAILS + "1,a@example.com\n")
    given = newest()
    for _ in range(2):
        assert admin.post(row_url(given, "confirm")).status_code == 302
    for _ in range(2):
        uploads.work(given.pk)
    assert admin.post(row_url(given, "confirm")).status_code == 302
    uploads.work(given.pk)
    assert Customer.objects.count() == 1
    assert LogEntry.objects.filter(object_id=str(grant.organization.pk)).count() == 1
    assert "Imported 1 rows 1 new" in words(admin.get(row_url(given)))


def test_a_link_to_the_confirmation_does_not_confirm(admin: Client, grant: Grant) -> None:
    check(admin, grant.organization, EMAILS + "1,a@example.com\n")
    assert admin.get(row_url(newest(), "confirm")).status_code == 302
    assert newest().status == ImportStatus.READY


def test_data_that_changed_since_the_check_is_checked_again(admin: Client, grant: Grant) -> None:
    check(admin, grant.organization, "email,name\ndesk@example.com,Ada\nb@example.com,B\n")
    for number in "12":
        grant.customer(external_id=number, email="desk@example.com")
    admin.post(row_url(newest(), "confirm"))
    uploads.work(newest().pk)
    page = words(admin.get(row_url(newest())))
    assert "Refused" in page
    assert "2 email Several customers have this email." in page
    assert Customer.objects.count() == 2


def test_an_import_is_in_the_history_of_the_organization(admin: Client, grant: Grant) -> None:
    send(admin, grant.organization, COMPANIES, "companies")
    entry = LogEntry.objects.get(object_id=str(grant.organization.pk))
    assert entry.get_change_message() == "Imported companies: 1 added, 0 changed, 0 unchanged."
    assert entry.user.email == "root@example.com"


def test_the_file_is_deleted_once_it_is_imported(admin: Client, grant: Grant) -> None:
    send(admin, grant.organization, EMAILS + "1,a@example.com\n")
    assert (newest().content, newest().preview) == (None, {})


def test_the_rows_of_a_refused_file_are_deleted_after_a_day(admin: Client, grant: Grant) -> None:
    send(admin, grant.organization, EMAILS + "1,a@example.com\n2,nobody\n")
    assert newest().content is not None
    assert newest().refused_rows is not None
    DataImport.objects.update(created_at=timezone.now() - timedelta(hours=25))
    tasks.pick_up_imports()
    assert (newest().status, newest().content, newest().preview) == ("refused", None, {})
    assert newest().refused_rows is None
    assert "3 email Enter an email address." in words(admin.get(row_url(newest())))


def test_a_defect_ends_the_import_and_stores_nothing(
    admin: Client, grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_given: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(uploads, "_finish_done", fail)
    page = words(send(admin, grant.organization, EMAILS + "1,a@example.com\n"))
    assert "Failed" in page
    assert "an internal error, which is in the log. Nothing was stored." in page
    assert not Customer.objects.exists()


# --- Expiry and lost workers ----------------------------------------------------------------------


def test_a_file_without_a_confirmation_expires(admin: Client, grant: Grant) -> None:
    check(admin, grant.organization, EMAILS + "1,a@example.com\n")
    tasks.pick_up_imports()
    assert newest().status == ImportStatus.READY
    DataImport.objects.update(created_at=timezone.now() - timedelta(hours=25))
    tasks.pick_up_imports()
    assert (newest().status, newest().content, newest().preview) == ("expired", None, {})
    admin.post(row_url(newest(), "confirm"))
    assert newest().status == ImportStatus.EXPIRED
    assert "was not imported in time" in words(admin.get(row_url(newest())))
    DataImport.objects.update(created_at=timezone.now() - timedelta(days=31))
    tasks.pick_up_imports()
    assert not DataImport.objects.exists()


@pytest.mark.parametrize("skips", [False, True])
def test_a_confirmed_import_without_reading_time_can_be_confirmed_again(
    admin: Client, grant: Grant, settings: Any, *, skips: bool
) -> None:
    check(admin, grant.organization, EMAILS + "1,a@example.com\n" + "2,nobody\n" * skips)
    row, before = newest(), newest().status
    confirm = {"without_refused": "on"} if skips else {}
    for seconds in (59, 58, 3_600):
        settings.HALO_KNOWLEDGE_DAILY_SECONDS = seconds
        admin.post(row_url(row, "confirm"), confirm)
        uploads.work(row.pk)
        page = words(admin.get(row_url(row)))
        if seconds == 3_600:
            continue
        assert (newest().status, newest().problem_count) == (before, 1 + skips)
        assert page.count("Confirm it again tomorrow.") == 1
        assert ("Enter an email address." in page) == skips
        # The file is still there tomorrow.
        DataImport.objects.update(created_at=timezone.now() - timedelta(hours=47))
        tasks.pick_up_imports()
    assert newest().status == ImportStatus.DONE
    assert "tomorrow" not in page
    assert Customer.objects.count() == 1


def test_a_file_that_could_be_confirmed_again_expires_a_day_later(
    admin: Client, grant: Grant, settings: Any
) -> None:
    check(admin, grant.organization, EMAILS + "1,a@example.com\n")
    settings.HALO_KNOWLEDGE_DAILY_SECONDS = 59
    admin.post(row_url(newest(), "confirm"))
    uploads.work(newest().pk)
    then = timezone.now() - timedelta(hours=25)
    DataImport.objects.update(created_at=then, updated_at=then)
    tasks.pick_up_imports()
    assert (newest().status, newest().content) == (ImportStatus.EXPIRED, None)


def test_an_import_whose_message_or_worker_was_lost_is_continued(
    admin: Client, grant: Grant
) -> None:
    upload(admin, grant.organization, EMAILS + "1,a@example.com\n")
    tasks.pick_up_imports()
    assert newest().status == ImportStatus.UPLOADED
    for status in (ImportStatus.UPLOADED, ImportStatus.CHECKING):
        then = timezone.now() - timedelta(minutes=3)
        DataImport.objects.update(status=status, updated_at=then, leased_until=then)
        run_with_sent(tasks.pick_up_imports)
        assert newest().status == ImportStatus.READY


def test_an_import_that_no_worker_ends_fails_and_says_why(admin: Client, grant: Grant) -> None:
    check(admin, grant.organization, EMAILS + "1,a@example.com\n")
    admin.post(row_url(newest(), "confirm"))

    def stop(*_given: Any, **_more: Any) -> None:
        raise SystemExit

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "store", stop)
        for _ in range(document_claims.MAX_ATTEMPTS):
            with pytest.raises(SystemExit):
                uploads.work(newest().pk)
            DataImport.objects.update(leased_until=timezone.now() - timedelta(seconds=1))
    run_with_sent(tasks.pick_up_imports)
    page = words(admin.get(row_url(newest())))
    assert "Failed" in page
    assert "begun 3 times, and each time the worker ended before it was done" in page
    assert "listed below" not in page
    assert (newest().content, Customer.objects.exists()) == (None, False)


def test_a_worker_that_was_given_up_stores_nothing(
    admin: Client, grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(admin, grant.organization, EMAILS + "1,a@example.com\n")
    store = passes.store

    def take_over_and_store(*given: Any) -> Any:
        DataImport.objects.update(claim=uuid4())
        return store(*given)

    admin.post(row_url(newest(), "confirm"))
    monkeypatch.setattr(passes, "store", take_over_and_store)
    uploads.work(newest().pk)
    assert not Customer.objects.exists()


def test_an_organization_keeps_a_bounded_number_of_files(
    admin: Client, grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MAX_OPEN", 1)
    upload(admin, grant.organization, EMAILS + "1,\n")
    answer = upload(admin, grant.organization, EMAILS + "1,\n")
    assert "Confirm or delete some of the files" in words(admin.get(answer["Location"]))
    assert DataImport.objects.count() == 1
    assert upload(admin, make_grant().organization, EMAILS + "1,\n").status_code == 302
    assert DataImport.objects.count() == 2


# --- Downloads ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["customers", "companies", "tickets"])
def test_the_template_of_a_kind_can_be_imported(admin: Client, grant: Grant, kind: str) -> None:
    answer = admin.get(f"{IMPORTS}template/{kind}/")
    assert answer["Content-Disposition"] == f'attachment; filename="{kind}.csv"'
    assert "Ready to import 1 rows 1 new" in words(
        check(admin, grant.organization, answer.content, kind)
    )


def test_there_is_no_template_of_another_kind(admin: Client) -> None:
    assert admin.get(f"{IMPORTS}template/users/").status_code == 404


def test_the_refused_rows_are_downloaded_as_csv(admin: Client, grant: Grant) -> None:
    send(admin, grant.organization, EMAILS + "1,nobody\n2,a@example.com\n1,\n")
    answer = admin.get(row_url(newest(), "refused"))
    assert answer.content.decode("utf-8-sig").splitlines() == [
        "line,column,reason",
        "2,email,Enter an email address.",
    ]
