"""Ids of customers, companies and sessions: which are refused, and how they are stored."""

import json
from typing import Any

import pytest

from tests.ingestion.app import App
from workspace.models import Company, Conversation, Customer, Event

NO_IDS = [
    *("undefined", "null", "NULL", "None", "NaN", "nil", "0", "-1", "true", "false"),
    *("[object Object]", "anonymous", "Anonymous", "guest", "not_authenticated", "unknown"),
    *("user_id", "{{user_id}}", "distinct_id", '"null"', "''", "undefined ", "\u200bundefined"),
    *("00000000-0000-0000-0000-000000000000", "   ", "\t", "\u200b\ufeff", "a\nb"),
    "\uff2e\uff35\uff2c\uff2c",
]
SURROUNDED = ["anna_1\n", " anna_1", "\u200banna_1", "\u00a0anna_1\ufeff", "\tanna_1\r\n"]


@pytest.mark.parametrize("named", NO_IDS)
def test_what_programs_send_instead_of_an_id_is_refused_by_name(app: App, named: str) -> None:
    server = app.server()
    bodies: list[tuple[str, dict[str, Any], str]] = [
        ("identify", {"user_id": named}, "user_id"),
        ("identify", {"user_id": "1", "company_id": named}, "company_id"),
        ("users/update", {"users": [{"user_id": named}]}, "users[0].user_id"),
        ("companies", {"company_id": named}, "company_id"),
        ("events", {"events": [{"event_type": "a", "user_id": named}]}, "events[0].user_id"),
        ("events", {"events": [{"event_type": "a", "session_id": named}]}, "events[0].session_id"),
        ("tickets/create", {"subject": "S", "user_id": named}, "user_id"),
        ("chat/transcripts", {"session_id": named}, "session_id"),
        ("chat/transcripts", {"session_id": "s", "user_id": named}, "user_id"),
    ]
    for where, body, field in bodies:
        answer = server.post(where, body)
        assert answer.refusal == (400, field), (where, answer.json)
    assert app.page(named).post("identify").refusal == (403, "user_token")
    assert app.page("1", company_id=named).post("identify").refusal == (400, "user_token")
    assert not Customer.objects.exists()
    assert not Company.objects.exists()


@pytest.mark.parametrize("named", SURROUNDED)
def test_spaces_and_invisible_characters_around_an_id_are_no_part_of_it(
    app: App, named: str
) -> None:
    server = app.server()
    server.post("identify", {"user_id": "anna_1", "company_id": "acme"})
    server.post("identify", {"user_id": named, "company_id": named.replace("anna_1", "acme")})
    server.post("events", {"events": [{"event_type": "a", "user_id": named}]})
    app.page(named).post("identify", {"user_id": "anna_1"})
    assert Customer.objects.get().external_id == "anna_1"
    assert Company.objects.get().external_id == "acme"
    assert Event.objects.get().customer == Customer.objects.get()


@pytest.mark.parametrize(
    "named", ["10", "00", "null-1", "guests", "ID-7", "user@x.example", "нуль", "\U0001f680", "o"]
)
def test_ids_that_look_odd_name_a_customer(app: App, named: str) -> None:
    assert app.server().post("identify", {"user_id": named}).status == 200
    assert Customer.objects.get().external_id == named


def test_the_sessions_of_one_conversation_are_one(app: App) -> None:
    for named in ("s1", " s1\n"):
        app.server().post("chat/transcripts", {"session_id": named})
    assert Conversation.objects.get().session_id == "s1"


def test_a_beacon_without_a_person_is_refused_too(app: App) -> None:
    body = {
        "events": [{"event_type": "a", "session_id": "undefined"}],
        "api_key": app.organization.widget_key,
    }
    answer = app.send("POST", "events", json.dumps(body).encode(), "text/plain")
    assert answer.refusal == (400, "events[0].session_id")
