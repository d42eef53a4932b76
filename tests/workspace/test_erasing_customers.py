"""Erasing a customer: what goes, what stays, and what happens if the work is interrupted."""

from typing import Any

import pytest
from django.core.management import CommandError

from approvals.models import ApprovalRequest, ApprovalStatus
from audit.models import ActionExecution, SecurityEvent
from customers import tasks
from customers.imports import uploads
from customers.privacy import erasure, tables
from tests.drivers import data_tools
from tests.drivers.grants import Grant, make_grant
from tests.ingestion.app import App
from tests.workspace.privacy import (
    EMAIL,
    EXTERNAL_ID,
    NAME,
    SECRET,
    Life,
    erase,
    export_customer,
    manage,
    rows_with,
)
from workspace.models import (
    AuthorKind,
    Customer,
    Erasure,
    Event,
    Feedback,
    ImportStatus,
    Ticket,
    TicketMessage,
)


@pytest.fixture
def life(grant: Grant) -> Life:
    return Life(grant)


def test_nothing_in_the_database_names_an_erased_customer(life: Life) -> None:
    customer_id = life.customer.pk
    assert len(rows_with(EMAIL, NAME, EXTERNAL_ID, "cus_Quill")) > 5
    printed = erase(life.grant, EMAIL)
    assert f"Erased {customer_id}. leads: 2 deleted, events: 1 deleted" in printed
    assert rows_with(EMAIL, NAME, EXTERNAL_ID, "cus_Quill") == set()
    # The records that it happened, and nothing else.
    assert rows_with(customer_id) == {"workspace.Erasure", "audit.SecurityEvent"}


def test_no_time_of_a_field_of_another_customer_names_an_erased_customer(life: Life) -> None:
    server = App(life.grant).server()
    removed, kept = {EMAIL: 1, "seats": 1}, {f"by {EMAIL}": 1}
    for traits in (removed, dict.fromkeys(removed), kept, {EMAIL: 2}):
        server.post("identify", {"user_id": "somebody-else", "traits": traits})
    server.post("companies", {"company_id": "their-company", "traits": removed})
    erase(life.grant, EMAIL)
    assert rows_with(EMAIL) == set()
    other = Customer.objects.get(external_id="somebody-else")
    assert {f"custom_fields.{name}" for name in other.custom_fields} <= set(other.trait_times)


def test_what_the_customer_wrote_is_gone_from_every_table(life: Life) -> None:
    search = "data_search_tickets"
    assert data_tools.answer(life.mcp, search, query=SECRET)["items"]
    erase(life.grant, life.customer.pk)
    # What the organization has itself: its agent, its company, its documents and their categories.
    own = {"Agent", "Company", "KnowledgeSource", "KnowledgeChunk", "Ticket", "ConversationMessage"}
    left = rows_with(SECRET)
    assert left <= {f"workspace.{name}" for name in own} | {"audit.ActionExecution"}
    assert not Ticket.objects.filter(subject__contains=SECRET).exists()
    assert data_tools.answer(life.mcp, search, query=SECRET)["items"] == []


def test_threads_and_ratings_keep_their_shape(life: Life) -> None:
    before = sorted(Ticket.objects.values_list("pk", "status", "created_at", "company"))
    ratings = sorted(Feedback.objects.values_list("pk", "rating", "agent"))
    erase(life.grant, life.customer.pk)
    assert sorted(Ticket.objects.values_list("pk", "status", "created_at", "company")) == before
    assert sorted(Feedback.objects.values_list("pk", "rating", "agent")) == ratings
    thread = TicketMessage.objects.filter(ticket__subject="[erased]").order_by("position")
    assert [(one.author_kind, one.author_name, one.text) for one in thread] == [
        (AuthorKind.CUSTOMER, "Erased customer", "[erased]"),
        (AuthorKind.TEAMMATE, "Sam", "Dear [erased], we wrote to [erased]. Regards"),
    ]


def test_other_customers_and_organizations_keep_everything(life: Life) -> None:
    elsewhere = Life(make_grant("actions:* data:read"))
    both = [(life.grant, life.neighbour.pk), (elsewhere.grant, EMAIL)]
    before = [_remove_times(export_customer(*one)) for one in both]
    erase(life.grant, EMAIL)
    assert [_remove_times(export_customer(*one)) for one in both] == before


def _remove_times(document: Any) -> Any:
    return {**document, "exported_at": None}


def test_audit_rows_keep_all_but_what_names_the_customer(life: Life) -> None:
    before = ActionExecution.objects.order_by("pk").values_list("pk", "tool", "outcome")
    rows = list(before)
    erase(life.grant, EMAIL)
    assert list(before) == rows
    found = ActionExecution.objects.order_by("pk")
    assert [row.arguments.get("user") for row in found] == [
        *(None, "[erased]", "[erased]", "[erased]", "mail of [erased]", life.neighbour.pk)
    ]
    assert found[0].bound_customer_id == "[erased]"


def test_details_of_security_events_keep_all_but_what_names_the_customer(life: Life) -> None:
    erase(life.grant, EMAIL)
    details = SecurityEvent.objects.filter(kind__in=("audit_exported", "self_approval"))
    assert sorted(details.values_list("organization_id", "detail")) == [
        ("", "Refund for [erased]"),
        (
            str(life.grant.organization.pk),
            f"csv by {life.grant.user}: q=[erased], [erased]",
        ),
    ]


def test_the_event_names_the_actor_the_internal_id_and_the_counts(life: Life) -> None:
    erase(life.grant, EMAIL)
    event = SecurityEvent.objects.get(kind="customer_erased")
    assert event.subject == life.customer.pk
    assert event.organization_id == str(life.grant.organization.pk)
    assert "manage.py customer" in event.detail
    for words in ("tickets: 2 anonymized", "customers: 1 deleted", "security_events: 2 redacted"):
        assert words in event.detail


def test_a_pending_request_for_approval_is_declined(life: Life) -> None:
    erase(life.grant, EMAIL)
    request = ApprovalRequest.objects.get()
    assert (request.status, request.summary) == (ApprovalStatus.DECLINED, "Refund for [erased]")
    assert request.arguments == {"customer": "[erased]", "amount": 5}


def test_a_request_that_runs_is_waited_for(life: Life) -> None:
    running = life.request("Another refund", ApprovalStatus.RUNNING)
    with pytest.raises(CommandError, match="is hidden, but not erased"):
        erase(life.grant, EMAIL)
    assert tasks.finish_erasures() == 1
    assert Erasure.objects.get().finished_at is None
    ApprovalRequest.objects.filter(pk=running.pk).update(status=ApprovalStatus.DONE)
    assert [tasks.finish_erasures(), tasks.finish_erasures()] == [1, 0]
    assert rows_with(EMAIL, NAME, EXTERNAL_ID, "cus_Quill") == set()


class KilledErasure(BaseException):
    """The process ends."""


def kill_after(monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    """Ends the process at the end of one of the batches, before it is committed."""
    left = iter(range(steps))

    def add(*_given: Any) -> None:
        if next(left, None) is None:
            raise KilledErasure

    monkeypatch.setattr(erasure, "_add", add)


@pytest.mark.parametrize("steps", [0, 2, 4, 5, 7])
def test_an_erasure_that_was_killed_is_finished_by_the_next_run(
    life: Life, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    Event.objects.bulk_create(
        Event(organization=life.grant.organization, customer=life.customer, event_type="x")
        for _ in range(3)
    )
    monkeypatch.setattr(tables, "MESSAGES", 1)
    with monkeypatch.context() as patched:
        kill_after(patched, steps)
        with pytest.raises(KilledErasure):
            erase(life.grant, EMAIL)
    # The customer is hidden from every reader, however few rows are erased.
    bound = {"bound_end_user_id": life.customer.pk}
    assert "error" in data_tools.call(life.mcp, "data_find_user", bound).json
    listed = data_tools.answer(life.mcp, "data_search_users")
    assert data_tools.ids(listed) == [life.neighbour.pk]
    assert "Erased" in erase(life.grant, EMAIL)
    assert rows_with(EMAIL, NAME, EXTERNAL_ID, "cus_Quill") == set()
    assert SecurityEvent.objects.filter(kind="customer_erased").count() == 1


def test_erasing_again_says_that_it_is_done(life: Life) -> None:
    erase(life.grant, EMAIL)
    assert f"{life.customer.pk} was erased on" in erase(life.grant, life.customer.pk)
    with pytest.raises(CommandError, match="No customer of this organization"):
        erase(life.grant, EMAIL)


def test_an_identify_that_allows_it_makes_a_new_customer_afterwards(life: Life) -> None:
    erase(life.grant, EMAIL)
    sent = {"user_id": EXTERNAL_ID, "traits": {"email": EMAIL}, "allow_erased": True}
    server = App(life.grant).server()
    assert server.post("identify", sent).status == 200
    new = Customer.objects.get(external_id=EXTERNAL_ID)
    assert new.pk != life.customer.pk
    assert (new.name, new.context, new.custom_fields, new.vendor_ids) == ("", {}, {}, {})
    document = export_customer(life.grant, EXTERNAL_ID)
    assert document["customer"]["id"] == new.pk
    for name in ("leads", "events", "feedback", "conversations", "tickets", "approval_requests"):
        assert document[name] == []


def test_an_identify_that_allows_it_makes_a_new_customer_meanwhile(life: Life) -> None:
    erasure.begin(life.grant.organization.pk, life.customer.pk, erasure.PrivacyActor("test"))
    sent = {"user_id": EXTERNAL_ID, "traits": {"email": EMAIL}, "allow_erased": True}
    assert App(life.grant).server().post("identify", sent).status == 200
    assert tasks.finish_erasures() == 1
    assert Customer.objects.get(external_id=EXTERNAL_ID).email == EMAIL


def test_a_shared_email_address_names_nobody(life: Life) -> None:
    twin = life.grant.customer(email=EMAIL.lower(), name="A twin")
    with pytest.raises(CommandError, match="Several customers match") as refused:
        erase(life.grant, EMAIL)
    assert twin.pk in str(refused.value)
    erase(life.grant, EXTERNAL_ID)
    twin.refresh_from_db()
    assert twin.email == EMAIL.lower()
    assert Ticket.objects.filter(subject=f"From {EMAIL}").exists()


@pytest.mark.parametrize("named", ["u_nobody", "", "nul\0", "%", "x" * 5000])
def test_an_unknown_customer_is_an_error(life: Life, named: str) -> None:
    slug = life.grant.organization.slug
    for verb in ("erase", "export"):
        with pytest.raises(CommandError, match="No customer of this organization"):
            manage("customer", verb, "--organization", slug, named)


def test_a_customer_of_another_organization_is_unknown(life: Life) -> None:
    with pytest.raises(CommandError, match="No customer of this organization"):
        erase(make_grant(), life.customer.pk)
    with pytest.raises(CommandError, match="No organization has the short name"):
        manage("customer", "export", "--organization", "nowhere", EMAIL)


@pytest.mark.parametrize(("typed", "is_erased"), [("{id}", True), ("yes", False), ("", False)])
def test_the_command_shows_what_goes_and_wants_the_id(
    life: Life,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    typed: str,
    is_erased: bool,  # noqa: FBT001  a value of the table above
) -> None:
    monkeypatch.setattr("builtins.input", lambda _prompt: typed.format(id=life.customer.pk))
    words = ("customer", "erase", "--organization", life.grant.organization.slug, EMAIL)
    if is_erased:
        assert "tickets: 2" in manage(*words)
    else:
        with pytest.raises(CommandError, match="Nothing was erased"):
            manage(*words)
    assert Customer.objects.filter(pk=life.customer.pk).exists() is not is_erased
    assert capsys.readouterr().err == ""


def test_a_file_that_waits_for_its_confirmation_is_deleted(life: Life) -> None:
    content = f"email,name\n{EMAIL},{NAME}\n".encode()
    given = uploads.upload(
        life.grant.organization, kind="customers", file_name="c.csv", content=content, by=None
    )
    uploads.work(given.pk)
    erase(life.grant, life.customer.pk)
    given.refresh_from_db()
    assert (given.status, given.content, given.preview) == (ImportStatus.EXPIRED, None, {})
