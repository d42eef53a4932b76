"""Recorded rows in the admin: companies, leads, tickets, conversations, feedback and events."""

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.db.models import F, Model
from django.test import Client
from django.test.utils import CaptureQueriesContext

from customers.administration.records import lists, search, threads
from foundation.admin_urls import model_url, row_url
from tests.console import markup
from tests.drivers.grants import Grant, make_grant
from tests.drivers.records import Records
from tests.drivers.threads import agent_message, conversation, customer_message, ticket
from tests.workspace.customer_pages import CUSTOMERS, words
from workspace.models import (
    Company,
    Conversation,
    Customer,
    Event,
    Feedback,
    GivenBy,
    Lead,
    Rating,
    Role,
    Ticket,
    TicketStatus,
    User,
)

TICKETS = "/admin/workspace/ticket/"
LISTS = (Company, Customer, Lead, Ticket, Conversation, Feedback, Event)
READ_ONLY = (Company, Lead, Ticket, Conversation, Feedback, Event)


@pytest.fixture
def admin(client: Client, db: None) -> Client:  # noqa: ARG001  asked for: it opens the database
    client.force_login(User.objects.create_superuser("root@example.com"))
    return client


@pytest.fixture
def tenant(grant: Grant) -> Client:
    """The browser of an organization's admin."""
    grant.membership.role = Role.ADMIN
    grant.membership.save()
    http = Client()
    http.force_login(grant.user)
    return http


def list_of(model: type[Model]) -> str:
    return f"/admin/workspace/{model._meta.model_name}/"


def shown_rows(http: Client, address: str, **query: str) -> list[str]:
    """The text of each row of a list."""
    answer = http.get(address, query)
    assert answer.status_code == 200, answer
    table = markup.read(answer.content).all("table", id="result_list")
    return [row.text for row in table[0].all("tr")[1:]] if table else []


def hrefs(http: Client, address: str) -> list[str]:
    return [
        link.attributes.get("href", "") for link in markup.read(http.get(address).content).all("a")
    ]


@pytest.mark.parametrize("model", LISTS)
def test_a_list_reads_as_often_for_many_rows_as_for_one(
    admin: Client, grant: Grant, model: type[Model]
) -> None:
    records = Records(grant).add()
    counts = []
    for _ in range(2):
        # The first request fills what the process remembers, such as content types.
        admin.get(list_of(model))
        with CaptureQueriesContext(connection) as captured:
            admin.get(list_of(model))
        counts.append(len(captured))
        records.add(4)
    assert counts[0] == counts[1]
    assert counts[0] <= 12


@pytest.mark.parametrize("model", READ_ONLY)
def test_what_the_product_writes_is_read_only(
    admin: Client, grant: Grant, model: type[Model]
) -> None:
    Records(grant).add()
    row = model._default_manager.get()
    page = admin.get(row_url(row))
    assert page.status_code == 200
    assert markup.read(page.content).all("input", type="submit") == []
    assert admin.post(row_url(row), {"subject": "x"}).status_code == 403
    assert admin.get(f"{list_of(model)}add/").status_code == 403
    assert admin.post(row_url(row, "delete")).status_code == 403
    assert model._default_manager.filter(pk=row.pk).exists()


def test_pages_lead_from_a_company_to_a_rated_message_and_back(admin: Client, grant: Grant) -> None:
    records = Records(grant).add()
    company, customer = records.companies[0], records.customers[0]
    talk, asked = records.conversations[0], records.tickets[0]
    assert {row_url(customer), row_url(asked), row_url(talk)} <= {*hrefs(admin, row_url(company))}
    of_customer = hrefs(admin, row_url(customer))
    feedback, event = Feedback.objects.get(), Event.objects.get()
    assert {row_url(company), row_url(asked), row_url(talk)} <= {*of_customer}
    assert {row_url(feedback), row_url(event)} <= {*of_customer}
    for row in (asked, talk, feedback):
        assert {row_url(customer), row_url(company)} <= {*hrefs(admin, row_url(row))}
    said = words(admin.get(row_url(talk)))
    assert said.index("message 1.") < said.index("message 2.") < said.index("Not helpful")
    assert f"Please help with {records.word} 1." in words(admin.get(row_url(asked)))


@pytest.mark.parametrize("model", [Customer, Ticket, Conversation])
def test_a_company_s_page_leads_to_all_that_belongs_to_it(
    admin: Client, grant: Grant, model: type[Model]
) -> None:
    records = Records(grant).add(2)
    (link,) = (
        one
        for one in hrefs(admin, row_url(records.companies[0]))
        if one.startswith(f"{list_of(model)}?")
    )
    (row,) = shown_rows(admin, link)
    assert "onboarding 1" in row


SEARCHES = [
    (Company, "ONBOARDING 1 ltd"),
    (Company, "onboarding1.example"),
    (Customer, "onboarding-1"),
    (Customer, "Person@onboarding1"),
    (Lead, "onboarding 1 lead"),
    (Lead, "lead@onboarding1"),
    (Ticket, "helping 1"),
    (Ticket, "person@onboarding1.example"),
    (Conversation, "onboarding 1"),
    (Conversation, "person@onboarding1.example"),
    (Feedback, "helpful on onboarding 1"),
    (Feedback, "person@onboarding1.example"),
    (Event, "person@onboarding1.example"),
    (Event, "onboarding 1"),
]


@pytest.mark.parametrize(("model", "term"), SEARCHES, ids=str)
def test_a_search_finds_a_row_by_what_people_know_of_it(
    admin: Client, grant: Grant, model: type[Model], term: str
) -> None:
    Records(grant).add(2)
    assert len(shown_rows(admin, list_of(model), q=term)) == 1
    assert shown_rows(admin, list_of(model), q="zzzz nothing") == []


@pytest.mark.parametrize("term", ["export", "#4711", "4711"])
def test_the_list_in_the_admin_finds_subjects_and_numbers(
    admin: Client, grant: Grant, term: str
) -> None:
    ticket(grant, "Export is broken", external_id="4711")
    ticket(grant, "Something else", external_id="4712")
    (row,) = shown_rows(admin, list_of(Ticket), q=term)
    assert "Export is broken" in row


def test_a_search_for_a_common_part_of_a_name_misses_no_row(
    admin: Client, grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MAX_NAMES", 1)
    Records(grant).add(3)
    for model in (Company, Customer):
        assert len(shown_rows(admin, list_of(model), q="onboarding")) == 3


@pytest.mark.parametrize("model", [Company, Customer, Lead, Ticket, Conversation, Feedback])
def test_an_id_is_found_whatever_organization_is_chosen(
    admin: Client, grant: Grant, model: type[Model]
) -> None:
    Records(grant).add()
    other = make_grant()
    row = model._default_manager.get()
    chosen = {"organization__id__exact": str(other.organization.pk)}
    assert shown_rows(admin, list_of(model), **chosen) == []
    assert len(shown_rows(admin, list_of(model), **chosen, q=str(row.pk))) == 1


def test_a_list_is_one_organization_s_at_a_time(admin: Client) -> None:
    for word in ("first", "second"):
        Records(make_grant(), word=word).add()
    (row,) = shown_rows(admin, TICKETS)
    assert "first" in row
    second = Ticket.objects.get(category__startswith="second").organization
    (row,) = shown_rows(admin, TICKETS, organization__id__exact=str(second.pk))
    assert "second" in row
    assert admin.get(TICKETS, {"organization__id__exact": "x"}).status_code == 302


def test_tickets_that_are_not_resolved_are_one_choice(admin: Client, grant: Grant) -> None:
    for status in TicketStatus:
        ticket(grant, f"This is {status.value}", status=status)
    open_ones = " ".join(shown_rows(admin, TICKETS, status="unresolved"))
    assert "This is snoozed" in open_ones
    assert "This is resolved" not in open_ones
    assert "This is spam" not in open_ones
    (row,) = shown_rows(admin, TICKETS, status="spam")
    assert "This is spam" in row


@pytest.mark.parametrize("model", LISTS)
def test_another_organization_s_id_is_answered_like_a_random_one(
    tenant: Client, grant: Grant, model: type[Model]
) -> None:
    Records(grant).add()
    theirs = Records(make_grant(), word="theirs").add()
    # A number of one digit is found everywhere on a page.
    Event.objects.update(id=F("id") + 10**12)
    row = model._default_manager.exclude(organization=grant.organization).get()
    said = []
    for key in (str(row.pk), "u_nobody" if model is not Event else "999999"):
        page = tenant.get(model_url(model, "change", key), follow=True)
        found = tenant.get(list_of(model), {"q": key})
        said.append([words(one).replace(key, "ID") for one in (page, found)])
    assert said[0] == said[1]
    assert "theirs" not in " ".join(said[0])
    for name, other in (("customer", theirs.customers[0]), ("company", theirs.companies[0])):
        answers = [tenant.get(TICKETS, {name: key}) for key in (other.pk, "nobody")]
        texts = [
            words(one).replace(key, "ID")
            for one, key in zip(answers, (other.pk, "nobody"), strict=True)
        ]
        assert texts[0] == texts[1]


def test_a_list_counts_up_to_its_bound(
    admin: Client, grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "FEW", 10)
    monkeypatch.setattr(lists.RecordList, "max_counted", 30)
    for number in range(40):
        ticket(grant, f"Subject {number}")
    assert "30+ tickets" in words(admin.get(TICKETS))
    assert len(shown_rows(admin, TICKETS, p="2")) == 5
    assert admin.get(TICKETS, {"p": "3"}).status_code == 302
    assert "No messages." in words(admin.get(row_url(Ticket.objects.order_by("pk")[0])))
    emptied = conversation(grant, customer_message("Why?"))
    emptied.messages.all().delete()
    assert "were deleted after their retention period" in words(admin.get(row_url(emptied)))


def test_a_long_thread_is_read_in_parts(
    admin: Client, grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "AT_ONCE", 2)
    asked = ticket(grant, "Long", *(customer_message(f"Said {n}.") for n in range(1, 6)))
    first = words(admin.get(row_url(asked)))
    assert "Said 2." in first
    assert "Said 3." not in first
    (later,) = (one for one in hrefs(admin, row_url(asked)) if "after=" in one)
    second = words(admin.get(f"{row_url(asked)}{later}"))
    assert "Said 3." in second
    assert "Said 4." in second
    assert "3 to 4 of 5" in second


def test_a_long_message_is_cut_and_shown_as_a_whole_by_itself(
    admin: Client, grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "MAX_SHOWN", 10)
    asked = ticket(grant, "Long", customer_message("0123456789 and the rest"), note="Careful.")
    page = words(admin.get(row_url(asked)))
    assert "and the rest" not in page
    assert "Internal note" in page
    (whole,) = (one for one in hrefs(admin, row_url(asked)) if "message=" in one)
    assert "and the rest" in words(admin.get(f"{row_url(asked)}{whole}"))


@pytest.mark.parametrize("query", ["after=x", "after=-1", "message=1e9", "after=" + "9" * 30])
def test_a_part_of_a_thread_that_is_no_number_is_refused(
    admin: Client, grant: Grant, query: str
) -> None:
    asked = ticket(grant, "Short", customer_message("Hello."))
    assert admin.get(f"{row_url(asked)}?{query}").status_code == 400


def test_ratings_are_next_to_the_message_that_they_rate(admin: Client, grant: Grant) -> None:
    talk = conversation(
        grant, customer_message("How?"), agent_message("Like this."), customer_message("Thanks.")
    )
    Feedback.objects.create(
        organization=grant.organization,
        conversation=talk,
        position=2,
        rating=Rating.GOOD,
        comment="Well said",
        given_by=GivenBy.TRAINER,
    )
    said = words(admin.get(row_url(talk)))
    assert said.index("Like this.") < said.index("Well said") < said.index("Thanks.")


@pytest.mark.parametrize(
    ("model", "hidden"),
    [
        (Company, ("A ticket on", "How does", "Person")),
        (Customer, ("A ticket on", "How does", "Not helpful", "page_view")),
        (Conversation, ("Not helpful",)),
        (Feedback, ("message 2",)),
    ],
)
def test_a_page_shows_rows_of_a_model_only_to_those_who_may_view_it(
    client: Client, grant: Grant, model: type[Model], hidden: tuple[str, ...]
) -> None:
    Records(grant).add()
    row = model._default_manager.get()
    staff = User.objects.create_user("staff@example.com", is_staff=True)
    client.force_login(staff)
    views = Permission.objects.filter(codename__startswith="view_")
    every = views.filter(content_type__app_label="workspace")
    staff.user_permissions.set(every)
    page = words(client.get(row_url(row)))
    assert [one for one in hidden if one not in page] == []
    staff.user_permissions.set(every.filter(codename=f"view_{model._meta.model_name}"))
    page = words(client.get(row_url(row)))
    assert "Details" in page
    assert [one for one in hidden if one in page] == []


def test_text_of_customers_is_shown_as_text(admin: Client, grant: Grant) -> None:
    asked = ticket(grant, "<b>Bold</b>", customer_message("<script>alert(1)</script>"))
    for address in (TICKETS, row_url(asked)):
        assert b"<b>Bold" not in admin.get(address).content
    assert b"<script>alert" not in admin.get(row_url(asked)).content


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "//evil.example/x"])
def test_no_address_that_a_page_has_sent_becomes_a_link(
    admin: Client, client: Client, grant: Grant, url: str
) -> None:
    records = Records(grant)
    records.add()
    event = {"event_type": "page_view", "page_url": url, "session_id": "s"}
    key = {"X-Api-Key": grant.organization.widget_key}
    body = {"events": [event]}
    sent = client.post("/api/sdk/events", body, "application/json", headers=key)
    assert sent.status_code == 200
    shown = [list_of(model) for model in LISTS]
    shown += [row_url(row) for model in LISTS for row in model._default_manager.all()]
    assert any(url in words(admin.get(address)) for address in shown)
    for address in shown:
        assert not [link for link in hrefs(admin, address) if url in link], address


@pytest.mark.parametrize("model", LISTS)
@pytest.mark.parametrize("query", ["q=%00", "q=" + "x" * 5000, "q=%22+OR+1", "o=99", "p=x", "e=1"])
def test_no_address_of_a_list_is_an_error(
    admin: Client, grant: Grant, model: type[Model], query: str
) -> None:
    Records(grant).add()
    assert admin.get(f"{list_of(model)}?{query}").status_code in {200, 302, 400}


def test_the_first_page_leads_to_the_lists(tenant: Client) -> None:
    assert {list_of(model) for model in LISTS} <= {*hrefs(tenant, "/admin/")}
    assert CUSTOMERS in hrefs(tenant, "/admin/")


def test_a_member_opens_none_of_the_lists(grant: Grant) -> None:
    member = Client()
    member.force_login(grant.user)
    grant.membership.role = Role.MEMBER
    grant.membership.save()
    for model in LISTS:
        assert "/login/" in member.get(list_of(model))["Location"]
