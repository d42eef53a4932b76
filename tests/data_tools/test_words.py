"""Search of messages by words: every word of the query, phrases, and any text as a query."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from customers import companies, words
from data_tools.query import listing
from foundation.text.words import parse_query
from tests.drivers.data_tools import answer, call, ids, refusal
from tests.drivers.grants import Grant
from tests.drivers.index_words import finds
from tests.drivers.mcp import McpClient
from tests.drivers.threads import (
    MINUTE,
    NOON,
    conversation,
    customer_message,
    teammate_message,
    ticket,
)
from workspace.models import Company, ConversationMessage, Event, Lead, TicketMessage

TEXTS = {
    "sso": "We cannot sign in with Okta since the onboarding call.",
    "export": 'The export of invoices fails with "quota exceeded" at 2.5 GB.',
    "mail": "Write to maria.keller@acme.example about the single-sign-on add-on.",
    "price": "What does the Café plan cost? 100% of us like it; naïve ' OR 1=1 --",
}


@pytest.fixture
def tickets(grant: Grant) -> dict[str, str]:
    """The id of a ticket for each text, whose subject is its name."""
    return {
        name: ticket(
            grant, f"About {name}", customer_message("Hello there."), teammate_message(text)
        ).pk
        for name, text in TEXTS.items()
    }


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("okta", ["sso"]),
        ("OKTA", ["sso"]),
        ("call okta", ["sso"]),
        ("okta invoices", []),
        ("exports invoice", ["export"]),
        ("onboard", ["sso"]),
        ('"quota exceeded"', ["export"]),
        ('"exceeded quota"', []),
        ('fails "quota exceeded"', ["export"]),
        ('"quota exceeded', ["export"]),
        ("how is the export", ["export"]),
        ("single sign on", ["mail"]),
        ("single-sign-on", ["mail"]),
        ("add-on", ["mail"]),
        ("maria.keller@acme.example", ["mail"]),
        ("2.5", ["export"]),
        ("about price", ["price"]),
        ("hello okta", []),
        ("NOT okta", []),
        ("okta OR invoices", ["sso", "export"]),
        ("okta OR", ["sso"]),
        ("OR okta", ["sso"]),
        ("okta*", ["sso"]),
        ("-okta", ["sso"]),
        ("heading:okta", []),
        ("NEAR(okta)", []),
        ("café", ["price"]),
    ],
)
def test_a_query_finds_the_messages_with_all_its_words(
    mcp: McpClient, tickets: dict[str, str], query: str, found: list[str]
) -> None:
    result = answer(mcp, "data_search_tickets", query=query)
    assert set(ids(result)) == {tickets[name] for name in found}
    assert result["total"] == len(found)


@pytest.mark.parametrize("query", ["OR", "?!", '""', "+-*", '"?!"'])
def test_a_query_without_a_word_to_search_for_is_refused(
    mcp: McpClient, tickets: dict[str, str], query: str
) -> None:
    error = refusal(mcp, "data_search_tickets", query=query)
    assert error["reason"] == "send 1 to 10 words."
    assert tickets


def test_a_query_of_more_words_than_the_limit_is_refused(mcp: McpClient) -> None:
    error = refusal(mcp, "data_search_tickets", query=" ".join(f"word{n}" for n in range(11)))
    assert error["field"] == "query"


HOSTILE = st.lists(
    st.sampled_from(
        [
            *(
                "a",
                "b",
                '"',
                "'",
                "*",
                "(",
                ")",
                ":",
                "^",
                "-",
                "+",
                "&",
                "|",
                "!",
                "<->",
                "\\",
                "%",
            ),
            *(
                "_",
                "\u202e",
                " ",
                "ß",
                "é",
                "²",
                "日",
                "李",
                "가",
                "🚀",
                "§",
                "\u0301" * 50,
                "ﷺ",
                "=",
            ),
            *(
                "OR",
                "AND",
                "NOT",
                "NEAR(a, b)",
                "the",
                "log in",
                "sign",
                "up",
                "e-mail",
                "v2.3",
                ">5",
            ),
            *(
                "\u200b",
                "heading:",
                "{x y}:",
                "x" * 70,
                "Ü",
                "ae",
                "@",
                "<a@b>",
                "mailto:",
                "\u2122",
            ),
        ]
    ),
    min_size=1,
    max_size=20,
).map("".join)
TAKING_TEXT = [
    *(("data_search_tickets", name) for name in ("query", "category", "user", "assignee")),
    *(("data_search_transcripts", name) for name in ("query", "agent")),
    *(("data_search_leads", name) for name in ("query", "source", "trait")),
    *(("data_search_users", name) for name in ("query", "plan", "trait", "company")),
    *(("data_search_companies", name) for name in ("query", "industry")),
    *(("data_search_events", name) for name in ("event_type", "element_selector")),
    *(("data_find_user", "user"), ("data_find_company", "company")),
]


@pytest.mark.usefixtures("many_records")
@pytest.mark.parametrize(("tool", "argument"), TAKING_TEXT)
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=HOSTILE)
def test_any_text_is_answered(mcp: McpClient, tool: str, argument: str, text: str) -> None:
    result = call(mcp, tool, **{argument: text[:100]}).result
    if result["isError"]:
        error = json.loads(result["content"][0]["text"])
        assert (error["code"], error["field"]) == (-32602, argument)


@pytest.fixture
def many_records(grant: Grant) -> None:
    """One row of each kind that has a text."""
    own = {"organization": grant.organization}
    customer = grant.customer(external_id="1", name="a b", plan="ab", custom_fields={"a": "b"})
    companies.keep(Company(**own, name="a b", industry="ab"))
    Lead.objects.create(**own, name="a b", source="ab", fields={"a": "b"})
    Event.objects.create(**own, customer=customer, event_type="a b", element_selector="#ab")
    ticket(grant, "a b", customer_message("a b"), category="ab")
    conversation(grant, customer_message("a b"))


SIGNS = "ab\"'*():^-+&|!<>\\%_\u202e ßé²日李가🚀§\u0301 OR NEAR NOT the e-mail v2.3 log in "


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    text=st.lists(st.sampled_from(SIGNS.split(" ")), max_size=12).map(" ".join),
    query=st.lists(st.sampled_from([*SIGNS, *SIGNS.split(" ")]), max_size=12).map("".join),
)
def test_every_database_finds_what_the_words_say(grant: Grant, text: str, query: str) -> None:
    parsed = parse_query(query)
    message = ConversationMessage.objects.get(
        conversation=conversation(grant, customer_message(text))
    )
    rows = ConversationMessage.objects.filter(pk=message.pk)
    for are_few in (True, False):
        found = words.matching(rows, parsed, are_few=are_few)
        assert found.exists() is (finds(query, text) or not parsed)
    assert len(words.excerpt(text, parsed, 100)) <= 102


def test_terms_of_any_characters_raise_nothing(grant: Grant) -> None:
    ticket(grant, "One", customer_message("text"))
    rows = TicketMessage.objects.all()
    for term in ('a"b', "a\0b", "'", "a' OR 'b", "\\", "a:*", "!a & b", "²"):
        assert list(words.matching(rows, parse_query(f"{term} text"))) in ([], list(rows))


def test_of_a_common_word_the_total_is_a_lower_bound(
    mcp: McpClient, grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = [
        ticket(grant, "Export", created_at=NOON - number * MINUTE).pk
        for number in range(4)
        if ticket(grant, "Import", created_at=NOON - number * MINUTE)
    ]
    for pk in newest:
        TicketMessage.objects.create(
            organization=grant.organization, ticket_id=pk, position=1, heading="Export", text=""
        )
    exact = answer(mcp, "data_search_tickets", query="export", page_size=2)
    assert (exact["total"], ids(exact)) == (4, newest[:2])
    monkeypatch.setattr(words, "MAX_MATCHES", 3)
    monkeypatch.setattr(words, "MAX_COMMON", 3)
    found = answer(mcp, "data_search_tickets", query="export", page_size=2)
    assert (found["at_least"], ids(found)) == (3, newest[:2])
    cursor: Any = found["next_cursor"]
    more = answer(mcp, "data_search_tickets", query="export", page_size=2, cursor=cursor)
    assert (ids(more), "next_cursor" in more) == (newest[2:], False)


def test_of_a_common_word_the_first_rows_are_grouped_and_the_result_says_so(
    mcp: McpClient, grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, category in enumerate(("billing", "", "billing", "sso")):
        made = ticket(grant, "Export", created_at=NOON - number * MINUTE, category=category)
        TicketMessage.objects.create(
            organization=grant.organization, ticket=made, position=1, heading="Export", text=""
        )
    asked: Any = {"query": "export", "group_by": "category"}
    exact = answer(mcp, "data_search_tickets", **asked)
    monkeypatch.setattr(words, "MAX_MATCHES", 3)
    common = answer(mcp, "data_search_tickets", **asked)
    assert (common["groups"], common["total"]) == (exact["groups"], 4)
    days = answer(mcp, "data_search_tickets", **{**asked, "group_by": "day"})
    assert days["groups"] == [{"value": f"{NOON:%Y-%m-%d}", "count": 4}]
    monkeypatch.setattr(listing, "MAX_GROUPED", 4)
    whole = answer(mcp, "data_search_tickets", **asked)
    assert (whole["groups"], whole["total"], "hints" in whole) == (exact["groups"], 4, False)
    monkeypatch.setattr(listing, "MAX_GROUPED", 3)
    bounded = answer(mcp, "data_search_tickets", **asked)
    assert bounded["groups"] == [
        {"value": "billing", "count": 2},
        {"value": "(none)", "count": 1},
    ]
    assert (bounded["at_least"], "total" in bounded) == (3, False)
    assert bounded["hints"] == [listing.NOT_ALL_GROUPED]


@pytest.mark.parametrize(
    ("text", "term", "part"),
    [
        ("short text", "text", "short text"),
        ("no such word", "other", "no such word"),
        (f"{'word ' * 40}invoices are due{' later' * 40}", "invoice", "invoices are due"),
        ("x" * 500, "x", "x" * 100 + "…"),
        ("a\n\n b", "b", "a b"),
    ],
)
def test_an_excerpt_is_around_the_first_word_that_was_found(
    text: str, term: str, part: str
) -> None:
    excerpt = words.excerpt(text, parse_query(term), 100)
    assert part in excerpt
    assert len(excerpt) <= 102
    assert excerpt.startswith("…") == text.startswith("word")
