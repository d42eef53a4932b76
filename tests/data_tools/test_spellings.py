"""Words and names as people spell them, on both databases alike, and rows of earlier versions."""

from typing import Any

import pytest
from django.db import connection
from django.db.models import Model, QuerySet

from customers import bulk_writes, companies, conversations, text_backfill
from customers.conversations import NewConversationMessage, Transcript
from customers.privacy.redaction import ERASED
from data_tools.query import who
from foundation import leases
from foundation.text.columns import SearchTextField
from tests.drivers.data_tools import answer, ids, refusal
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.threads import conversation, customer_message, ticket
from workspace.models import (
    AuthorKind,
    Company,
    ConversationMessage,
    Customer,
    Lead,
    TicketMessage,
)

TEXTS = {
    "size": "Die Größe im Export ist falsch",
    "refund": "你好，我要退款，订单号 A-1009 一直没有收到。",
    "mixed": "重跑gen-itgc后…order#A77确认",
    "sign": "I cannot sign-up, the e-mail is not working since v2.3.1",
    "login": "I cannot sign in. What is up? We deploy 🚀 work fails with an error",
    "down": "Cafe\u0301 İade is down",
}
FOUND = [
    ("Größe", ["size"]),
    ("groesse", ["size"]),
    ("grosse", ["size"]),
    ("退款", ["refund"]),
    ("订单", ["refund"]),
    ("退", ["refund"]),
    ("gen", ["mixed"]),
    ("A77", ["mixed"]),
    ("确认", ["mixed"]),
    ("not working", ["sign"]),
    ('"not working"', ["sign"]),
    ('"fails with"', ["login"]),
    ("sign up", ["sign"]),
    ("signup", ["sign"]),
    ("email", ["sign"]),
    ("2.3.1", ["sign"]),
    ("signin OR signup", ["login", "sign"]),
    ("deploy 🚀", ["login"]),
    ("🚀", ["login"]),
    ("cafe", ["down"]),
    ("iade", ["down"]),
    ("is down", ["down"]),
]


NUMBERED = "\n".join(f"line{number} of the log" for number in range(6_000))


@pytest.fixture
def tickets(grant: Grant) -> dict[str, str]:
    """The id of a ticket for each text."""
    return {name: ticket(grant, "About", customer_message(text)).pk for name, text in TEXTS.items()}


def remove_words(model: type[Model]) -> None:
    """Makes rows as an earlier version wrote them."""
    QuerySet(model).update(search_text=None)


def test_tickets_are_found_in_any_spelling(mcp: McpClient, tickets: dict[str, str]) -> None:
    found = {
        query: sorted(ids(answer(mcp, "data_search_tickets", query=query))) for query, _ in FOUND
    }
    assert found == {query: sorted(tickets[name] for name in names) for query, names in FOUND}


def test_conversations_are_found_in_any_spelling(mcp: McpClient, grant: Grant) -> None:
    rows = {name: conversation(grant, customer_message(text)).pk for name, text in TEXTS.items()}
    found = {
        query: sorted(ids(answer(mcp, "data_search_transcripts", query=query)))
        for query, _ in FOUND
    }
    assert found == {query: sorted(rows[name] for name in names) for query, names in FOUND}


@pytest.mark.parametrize(
    ("query", "is_found"),
    [
        ('"line5999 of the log"', True),
        ('"line5999 of the log line"', False),
        ('"line5 of the log line6"', True),
        ('"of line5"', False),
        ('"the end"', True),
        ("line5999", True),
    ],
)
def test_phrases_are_found_at_any_place_of_a_long_text(
    mcp: McpClient, grant: Grant, query: str, *, is_found: bool
) -> None:
    ticket(grant, "About", customer_message(f"{NUMBERED} the end"))
    assert answer(mcp, "data_search_tickets", query=query)["total"] == is_found


@pytest.mark.parametrize("query", ["0end0", "end", "0", '"About crash"', '"mail email"'])
def test_what_is_between_texts_is_not_found(mcp: McpClient, grant: Grant, query: str) -> None:
    ticket(grant, "About", customer_message("Crash of the e-mail"))
    assert answer(mcp, "data_search_tickets", query=query)["total"] == 0


def test_an_excerpt_is_around_a_word_in_another_spelling(mcp: McpClient, grant: Grant) -> None:
    ticket(grant, "About", customer_message(f"{'in words ' * 60}Größe{' later' * 60}"))
    (item,) = answer(mcp, "data_search_tickets", query="groesse in words")["items"]
    assert item["excerpt"]["text"].startswith("in words")
    (item,) = answer(mcp, "data_search_tickets", query="groesse")["items"]
    assert "Größe" in item["excerpt"]["text"]


def test_an_excerpt_is_around_a_sign_of_a_script_without_spaces(
    mcp: McpClient, grant: Grant
) -> None:
    ticket(grant, "About", customer_message(f"{'说' * 300}退款{'话' * 300}"))
    (item,) = answer(mcp, "data_search_tickets", query="退款")["items"]
    assert "退款" in item["excerpt"]["text"]


def test_ignored_words_are_named(mcp: McpClient, tickets: dict[str, str]) -> None:
    result = answer(mcp, "data_search_tickets", query="the export is")
    assert ids(result) == [tickets["size"]]
    assert result["searched"]["ignored_words"] == ["the", "is"]
    assert result["hints"] == ["Ignored in query: the, is. Words in quotes are not ignored."]
    assert "ignored_words" not in answer(mcp, "data_search_tickets", query="export")["searched"]


def test_words_that_are_otherwise_ignored_are_found_alone_and_in_quotes(
    mcp: McpClient, tickets: dict[str, str]
) -> None:
    for query in ("is", '"is" export'):
        result = answer(mcp, "data_search_tickets", query=query)
        assert tickets["size"] not in ids(result)
        assert "ignored_words" not in result["searched"]
    assert tickets["down"] in ids(answer(mcp, "data_search_tickets", query="is"))


def test_rows_of_an_earlier_version_are_found_until_their_words_are_computed(
    mcp: McpClient, tickets: dict[str, str]
) -> None:
    remove_words(TicketMessage)
    assert ids(answer(mcp, "data_search_tickets", query="exports")) == [tickets["size"]]
    assert ids(answer(mcp, "data_search_tickets", query="groesse")) == []
    assert text_backfill.fill_search_texts() == len(TEXTS)
    assert ids(answer(mcp, "data_search_tickets", query="groesse")) == [tickets["size"]]
    assert text_backfill.fill_search_texts() == 0


def fill_meanwhile(seen: list[int]) -> Any:
    """Returns a function that makes words, and before the first ones fills all rows."""
    make_words = SearchTextField.make_row_words

    def words(field: SearchTextField, row: Any) -> str:
        if not seen:
            seen.append(-1)
            seen[0] = text_backfill.fill_search_texts()
        return make_words(field, row)

    return words


@pytest.mark.usefixtures("tickets")
def test_words_are_computed_by_one_run_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    remove_words(TicketMessage)
    seen: list[int] = []
    monkeypatch.setattr(SearchTextField, "make_row_words", fill_meanwhile(seen))
    assert text_backfill.fill_search_texts() == len(TEXTS)
    assert seen == [0]


@pytest.mark.usefixtures("tickets")
def test_words_are_computed_for_a_limited_time_and_until_the_worker_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    remove_words(TicketMessage)
    monkeypatch.setattr(bulk_writes, "BATCH", 2)
    monkeypatch.setattr(bulk_writes, "RUN_SECONDS", 0.0)
    assert text_backfill.fill_search_texts() == 2
    monkeypatch.setattr(bulk_writes, "RUN_SECONDS", 30.0)
    monkeypatch.setattr(leases, "is_stopping", lambda: True)
    assert text_backfill.fill_search_texts() == 2
    monkeypatch.setattr(leases, "is_stopping", lambda: False)
    assert text_backfill.fill_search_texts() == len(TEXTS) - 4


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has one writer.")
@pytest.mark.usefixtures("tickets")
def test_words_are_left_to_another_process_that_computes_them() -> None:
    remove_words(TicketMessage)
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [text_backfill.TEXT_LOCK])
            assert text_backfill.fill_search_texts() == 0
            cursor.execute("SELECT pg_advisory_unlock(%s)", [text_backfill.TEXT_LOCK])
    finally:
        other.close()
    assert text_backfill.fill_search_texts() == len(TEXTS)


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has one writer.")
@pytest.mark.django_db(transaction=True)
def test_words_of_a_text_that_is_being_changed_are_computed_afterwards(
    mcp: McpClient, tickets: dict[str, str]
) -> None:
    remove_words(TicketMessage)
    other = connection.copy()
    try:
        other.set_autocommit(autocommit=False)
        with other.cursor() as cursor:
            cursor.execute(
                "UPDATE workspace_ticketmessage SET text = 'Preis' WHERE ticket_id = %s",
                [tickets["size"]],
            )
            assert text_backfill.fill_search_texts() == len(TEXTS) - 1
        other.commit()
    finally:
        other.close()
    assert ids(answer(mcp, "data_search_tickets", query="preise")) == []
    assert text_backfill.fill_search_texts() == 1
    assert ids(answer(mcp, "data_search_tickets", query="preis")) == [tickets["size"]]
    assert ids(answer(mcp, "data_search_tickets", query="groesse")) == []


def test_an_update_of_a_text_alone_removes_its_words(
    mcp: McpClient, tickets: dict[str, str]
) -> None:
    rows = TicketMessage.objects.filter(ticket=tickets["size"])
    rows.update(text=ERASED)
    assert rows.get().search_text is None
    assert ids(answer(mcp, "data_search_tickets", query="groesse")) == []
    assert text_backfill.fill_search_texts() == 1
    assert ids(answer(mcp, "data_search_tickets", query="groesse")) == []
    rows.update(heading="Something else")
    assert ids(answer(mcp, "data_search_tickets", query="something")) == [tickets["size"]]


@pytest.mark.parametrize("text", ["Größe falsch!", "grösse FALSCH"])
def test_words_are_kept_if_a_changed_text_has_the_same(
    mcp: McpClient, grant: Grant, text: str
) -> None:
    pk = ticket(grant, "About", customer_message("Größe falsch")).pk
    message = TicketMessage.objects.get(ticket=pk)
    message.text = text
    message.save()
    message.refresh_from_db()
    assert message.search_text is not None
    assert ids(answer(mcp, "data_search_tickets", query="groesse")) == [pk]
    TicketMessage.objects.filter(pk=message.pk).update(text=f"{text}!")
    assert TicketMessage.objects.get(pk=message.pk).search_text is None


def test_words_of_a_transcript_that_is_sent_again_are_kept(grant: Grant) -> None:
    for text in ("Größe falsch", "Größe falsch!"):
        message = NewConversationMessage(text, AuthorKind.CUSTOMER)
        sent = Transcript("session-1", messages=[message])
        conversations.upsert(grant.organization.pk, sent)
    stored = ConversationMessage.objects.get()
    assert (stored.text, stored.search_text is None) == ("Größe falsch!", False)


def test_words_of_a_lead_are_kept_if_a_changed_field_has_the_same(grant: Grant) -> None:
    lead = Lead.objects.create(organization=grant.organization, fields={"question": "Why?"})
    for fields in ({"question": "Why!"}, {"reason": "Why!"}):
        lead.fields = fields
        lead.save()
        assert Lead.objects.get().search_text is not None


def test_a_message_that_is_sent_again_has_its_new_words(mcp: McpClient, grant: Grant) -> None:
    sent = conversation(grant, customer_message("Größe"))
    message = ConversationMessage.objects.get(conversation=sent)
    message.text = "Preis"
    message.save()
    assert ids(answer(mcp, "data_search_transcripts", query="groesse")) == []
    assert ids(answer(mcp, "data_search_transcripts", query="preis")) == [message.conversation_id]
    message.delete()
    assert ids(answer(mcp, "data_search_transcripts", query="preis")) == []


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("Anna Müller", "Anna Mu\u0308ller"),
        ("anna mueller", "Anna Müller"),
        ("Sean O'Brien", "Sean O\u2019Brien"),
        ("Ozlem Yildiz", "Özlem Yıldız"),
        ("李小龙", "李小龙"),
    ],
)
def test_a_customer_is_found_by_a_name_in_any_spelling(
    mcp: McpClient, grant: Grant, name: str, stored: str
) -> None:
    customer = grant.customer(external_id="user-1", name=stored)
    assert answer(mcp, "data_find_user", user=name)["user"]["id"] == customer.pk
    for word in name.split():
        assert ids(answer(mcp, "data_search_users", query=word)) == [customer.pk]


def test_customers_are_listed_by_either_of_two_names(mcp: McpClient, grant: Grant) -> None:
    rows = [
        grant.customer(external_id=name, name=name) for name in ("Will Smith", "Özlem", "Maria")
    ]
    found = answer(mcp, "data_search_users", query="will OR ozlem")
    assert set(ids(found)) == {rows[0].pk, rows[1].pk}


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("Rafael Nowak", "Rafał Nowak"),
        ("Michael Nowak", "Michal Nowak"),
        ("Manuel Nowak", "Manul Nowak"),
        ("Samuel Nowak", "Samul Nowak"),
    ],
)
def test_another_name_without_an_e_is_a_candidate_and_never_chosen(
    mcp: McpClient, grant: Grant, typed: str, stored: str
) -> None:
    other = grant.customer(external_id="user-1", name=stored)
    result = answer(mcp, "data_find_user", user=typed)
    assert (result["match"], result["candidates"][0]["id"]) == ("none", other.pk)
    assert stored in refusal(mcp, "data_search_tickets", user=typed)["reason"]

    meant = grant.customer(external_id="user-2", name=typed)
    assert answer(mcp, "data_find_user", user=typed)["user"]["id"] == meant.pk
    found = answer(mcp, "data_search_tickets", user=typed)
    assert found["searched"]["user"]["id"] == meant.pk


def test_the_name_as_it_is_typed_has_precedence_over_other_spellings(
    mcp: McpClient, grant: Grant
) -> None:
    for number, name in enumerate(("Jörg Müller", "Joerg Mueller", "Jörg Mueller")):
        customer = grant.customer(external_id=f"user-{number}", name=name)
        assert answer(mcp, "data_find_user", user=name)["user"]["id"] == customer.pk
    assert answer(mcp, "data_find_user", user="Joerg Müller")["match"] == "ambiguous"


def test_a_teammate_with_another_name_without_an_e_is_not_chosen(
    mcp: McpClient, grant: Grant
) -> None:
    user = grant.user
    user.name = "Rafał Nowak"
    user.save()
    assert "Rafał Nowak" in refusal(mcp, "data_search_tickets", assignee="Rafael Nowak")["reason"]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Maria", ["Maria Keller", "Lena Maria Vogt"]),
        ("keller", ["Maria Keller"]),
        ("Kell", ["Maria Keller"]),
        ("Kelelr", ["Maria Keller"]),
        ("Maria Kelle", ["Maria Keller"]),
        ("özlem", ["Özlem Yıldız"]),
        ("李", ["李小龙"]),
        ("Zacharias", []),
    ],
)
def test_candidates_have_a_word_of_the_name_or_nearly(
    mcp: McpClient, grant: Grant, name: str, found: list[str]
) -> None:
    for number, stored in enumerate(("Maria Keller", "Lena Maria Vogt", "Özlem Yıldız", "李小龙")):
        grant.customer(external_id=f"user-{number}", name=stored)
    result = answer(mcp, "data_find_user", user=name)
    assert result["match"] == "none"
    assert [one["name"] for one in result.get("candidates", ())] == found


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Fritz Frnak755", "Fritz Frank755"),
        ("Fritz Fran755", "Fritz Frank755"),
        ("Frtiz Frank755", "Fritz Frank755"),
        ("Frank755 Fritz", "Fritz Frank755"),
        ("Ana Andr100", "Anna Ander100"),
        ("Schnieder", "Fritz Schneider"),
        ("Jhon Smith", "John Smith"),
    ],
)
def test_candidates_have_all_words_nearly_before_others_have_one_of_them(
    mcp: McpClient, grant: Grant, monkeypatch: pytest.MonkeyPatch, name: str, found: str
) -> None:
    monkeypatch.setattr(who, "MAX_COMPARED", 15)
    for number in range(60):
        first, last = (("Fritz", "Keller"), ("Ana", "Frank"), ("John", "Miller"))[number % 3]
        grant.customer(external_id=f"user-{number}", name=f"{first} {last}{number}")
    meant = grant.customer(external_id="meant", name=found)
    candidates = answer(mcp, "data_find_user", user=name)["candidates"]
    assert candidates[0]["id"] == meant.pk


@pytest.mark.parametrize(
    "address", ["Ada <ada@acme.example>", "mailto:ada@acme.example", "<ada@acme.example>"]
)
def test_a_customer_is_found_by_a_copied_address(
    mcp: McpClient, grant: Grant, address: str
) -> None:
    customer = grant.customer(external_id="user-1", name="Ada", email="ada@acme.example")
    assert answer(mcp, "data_find_user", user=address)["user"]["id"] == customer.pk


def test_names_of_an_earlier_version_are_found_and_renewed(mcp: McpClient, grant: Grant) -> None:
    customer = grant.customer(external_id="user-1", name="Anna Müller")
    Customer.objects.update(name_key="anna müller")
    assert answer(mcp, "data_find_user", user="Anna Müller")["user"]["id"] == customer.pk
    assert text_backfill.renew_name_keys() == 1
    assert answer(mcp, "data_find_user", user="anna muller")["user"]["id"] == customer.pk
    assert text_backfill.renew_name_keys() == 0


def test_keys_of_names_are_renewed_for_a_limited_time_and_the_next_run_continues(
    grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        grant.customer(external_id=f"user-{number}", name="Anna Müller")
    companies.keep(Company(organization=grant.organization, name="Groß"))
    Customer.objects.update(name_key="anna müller")
    Company.objects.update(name_key="groß")
    monkeypatch.setattr(bulk_writes, "BATCH", 2)
    monkeypatch.setattr(bulk_writes, "RUN_SECONDS", 0.0)
    runs = [text_backfill.renew_name_keys() for _ in range(4)]
    assert runs[:3] == [2, 2, 1]
    assert set(Customer.objects.values_list("name_key", flat=True)) == {"anna muller"}
    assert Company.objects.get().name_key == "gross"
    # The pass is over, and the next run begins another one.
    monkeypatch.setattr(bulk_writes, "RUN_SECONDS", 30.0)
    Customer.objects.update(name_key="anna müller")
    assert text_backfill.renew_name_keys() == 4


def test_a_company_is_found_by_a_name_in_any_spelling(mcp: McpClient, grant: Grant) -> None:
    company = companies.keep(Company(organization=grant.organization, name="Bäckerei Groß-Möller"))
    for name in ("baeckerei gross moeller", "Backerei Gross Moller"):
        assert answer(mcp, "data_find_company", company=name)["company"]["id"] == company.pk
    found = answer(mcp, "data_find_company", company="Bakerei")
    assert [one["id"] for one in found["candidates"]] == [company.pk]


@pytest.mark.parametrize("assignee", ["unassigned", "Nobody", "none", "no one"])
def test_unassigned_tickets_are_found(
    mcp: McpClient, tickets: dict[str, str], assignee: str
) -> None:
    assert answer(mcp, "data_search_tickets", assignee=assignee)["total"] == len(tickets)


def test_a_teammate_is_found_by_a_first_name_as_a_candidate(mcp: McpClient, grant: Grant) -> None:
    user = grant.user
    user.name = "Lena Größing"
    user.save()
    error = refusal(mcp, "data_search_tickets", assignee="Lena")
    assert "Lena Größing" in error["reason"]
    found = answer(mcp, "data_search_tickets", assignee="lena groessing")
    assert found["searched"]["assignee"]["name"] == "Lena Größing"


@pytest.mark.parametrize(
    "query",
    ["Özgür", "OZGUR", "ZGÜR", "demir", "discount", "discounts schools", "is", "demir OR ada"],
)
def test_a_lead_is_found_by_name_and_what_it_filled_in(
    mcp: McpClient, grant: Grant, query: str
) -> None:
    lead = Lead.objects.create(
        organization=grant.organization,
        name="Özgür Demir",
        fields={"question": "Is there a discount for schools?"},
    )
    assert ids(answer(mcp, "data_search_leads", query=query)) == [lead.pk]


@pytest.mark.parametrize("query", ["end", "0", "nd", "art", "discounted offer", '"schools Ada"'])
def test_a_lead_is_not_found_by_a_part_of_a_word_or_what_is_between_texts(
    mcp: McpClient, grant: Grant, query: str
) -> None:
    Lead.objects.create(
        organization=grant.organization,
        name="Özgür Demir",
        fields={"question": "Is there a discount to start, e-mail for schools?", "who": "Ada"},
    )
    assert ids(answer(mcp, "data_search_leads", query=query)) == []
    assert len(ids(answer(mcp, "data_search_leads", query='"start e mail" email'))) == 1


def test_a_lead_of_an_earlier_version_is_found_by_name(mcp: McpClient, grant: Grant) -> None:
    lead = Lead.objects.create(organization=grant.organization, name="Ada Demir")
    remove_words(Lead)
    assert ids(answer(mcp, "data_search_leads", query="demir")) == [lead.pk]
    assert text_backfill.fill_search_texts() == 1


def test_values_are_found_in_any_case_beyond_ascii(mcp: McpClient, grant: Grant) -> None:
    customer = grant.customer(external_id="user-1", plan="Öko-Tarif")
    asked: Any = ("öko-tarif", "ÖKO-TARIF", "Öko-Tarif")
    assert [ids(answer(mcp, "data_search_users", plan=plan)) for plan in asked] == [
        [customer.pk]
    ] * 3
