"""Who may call the SDK API, and whom a caller may name."""

import base64
import json
import time
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from audit.models import SecurityEvent
from foundation.limits import Limit
from oauth import server_keys
from oauth.models import ServerKey
from tests.ingestion import app as own_app
from tests.ingestion.app import SDK, App
from workspace.models import Company, Customer, Event, Organization, Ticket

EVENT = {"event_type": "click"}
WRITES: dict[str, Any] = {
    "identify": {"user_id": "1"},
    "users/update": {"users": [{"user_id": "1"}]},
    "companies": {"company_id": "1"},
    "tickets/create": {"email": "a@x.example", "subject": "Hello"},
    "tickets/tkt_1/messages": {"message": "Hello"},
    "events": {"events": [EVENT]},
    "chat/transcripts": {"session_id": "s"},
}
# What a server alone may write: a page could invent what an agent has said.
OF_SERVERS = ("tickets/tkt_1/messages", "chat/transcripts")


@pytest.mark.parametrize("where", WRITES)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Api-Key": "ab_live_unknown"},
        {"X-Api-Key": "\u00e9"},
        {"X-Api-Key": ""},
        {"Authorization": "Bearer halo_sk_" + "a" * 43},
        {"Authorization": "Bearer halo_sk_short"},
        {"Authorization": "Basic abc"},
    ],
)
def test_a_request_without_a_valid_key_is_refused(
    app: App, where: str, headers: dict[str, str]
) -> None:
    answer = App(app.grant, headers).post(where, WRITES[where])
    assert (answer.status, answer.json["error"]) == (401, "unauthorized")
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="halo-sdk"'
    assert SecurityEvent.objects.get().kind == "sdk_key_rejected"


@pytest.mark.parametrize("where", OF_SERVERS)
def test_a_page_may_not_write_what_a_server_may(app: App, where: str) -> None:
    assert app.page("1").post(where, WRITES[where]).status == 403


def test_a_page_may_not_change_a_ticket(app: App) -> None:
    for caller, status in ((app, 401), (app.page(), 403), (app.page("1"), 403)):
        assert caller.send("PATCH", "tickets/tkt_1", b"{}").status == status


@pytest.mark.parametrize("end", ["revoked", "expired", "suspended"])
def test_a_server_key_that_ended_is_refused_on_the_next_request(app: App, end: str) -> None:
    server = app.server()
    assert server.post("identify", {"user_id": "1"}).status == 200
    key, past = ServerKey.objects.get(), timezone.now() - timedelta(seconds=1)
    if end == "revoked":
        server_keys.revoke(key, user=app.grant.user, address="")
    elif end == "expired":
        ServerKey.objects.update(expires_at=past)
    else:
        Organization.objects.filter(pk=app.organization.pk).update(suspended_at=past)
    assert server.post("identify", {"user_id": "1"}).status == 401


def test_a_server_key_does_what_its_scopes_permit(app: App) -> None:
    writing, updating = app.server(server_keys.SDK_WRITE), app.server(server_keys.USERS_UPDATE)
    users = WRITES["users/update"]
    assert writing.post("users/update", users).status == 403
    assert updating.post("users/update", users).status == 200
    assert updating.post("identify", {"user_id": "1"}).status == 403


def test_the_last_use_of_a_key_is_noted_every_ten_minutes(app: App) -> None:
    server = app.server()
    server.post("identify", {"user_id": "1"})
    first = ServerKey.objects.get().last_used_at
    assert first is not None
    server.post("identify", {"user_id": "1"})
    assert ServerKey.objects.get().last_used_at == first
    ServerKey.objects.update(last_used_at=first - timedelta(minutes=11))
    server.post("identify", {"user_id": "1"})
    assert ServerKey.objects.get().last_used_at >= first


def test_a_page_that_names_a_customer_needs_a_token_of_theirs(app: App) -> None:
    assert app.page().post("identify", {"user_id": "1"}).refusal == (403, "user_id")
    assert app.page("2").post("identify", {"user_id": "1"}).refusal == (403, "user_id")
    events = {"events": [EVENT, EVENT | {"user_id": "1"}]}
    assert app.page("2").post("events", events).refusal == (403, "events[1].user_id")
    ticket = WRITES["tickets/create"] | {"user_id": "1"}
    assert app.page().post("tickets/create", ticket).refusal == (403, "user_id")
    assert not Customer.objects.exists()
    assert not Event.objects.exists()
    assert app.page("1").post("identify", {"user_id": "1"}).status == 200


def test_verification_can_be_switched_off(app: App) -> None:
    config = {"org_id": str(app.organization.pk)}
    assert Client().get(f"{SDK}config", config).json()["identity_verification"] is True
    app.trust_pages()
    assert Client().get(f"{SDK}config", config).json()["identity_verification"] is False
    sent = {"user_id": "1", "company_id": "c", "traits": {"email": "a@x.example"}}
    assert app.page().post("identify", sent).status == 200
    # A token that is there has to be valid all the same.
    assert app.bearing("wrong").post("identify", sent).status == 403


def signed_token(app: App, **changes: Any) -> str:
    claims = {"user_id": "1", "exp": time.time() + 60} | changes
    return app.token({name: value for name, value in claims.items() if value is not None})


def unsigned_token(claims: dict[str, Any]) -> str:
    parts = ({"alg": "none", "typ": "JWT"}, claims)
    texts = [base64.urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=") for one in parts]
    return b".".join([*texts, b""]).decode()


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": 1},
        {"exp": "soon"},
        {"exp": float("inf")},
        {"exp": [1]},
        {"user_id": ""},
        {"user_id": None},
        {"user_id": "n" * 201},
        {"user_id": {"a": 1}},
        {"user_id": True},
        {"nbf": time.time() + 3600},
    ],
)
def test_a_token_with_wrong_claims_is_refused(app: App, claims: dict[str, Any]) -> None:
    answer = app.bearing(signed_token(app, **claims)).post("identify")
    assert answer.refusal == (403, "user_token")


def test_a_token_that_this_organization_did_not_sign_is_refused(app: App) -> None:
    other = own_app.create_app()
    claims = {"user_id": "1", "exp": time.time() + 60}
    wrong = [
        signed_token(other),
        app.token(claims, algorithm="HS384"),
        unsigned_token(claims),
        signed_token(app) + "x",
        "a.b.c",
        "x" * 9000,
    ]
    for token in wrong:
        assert app.bearing(token).post("identify").refusal == (403, "user_token"), token
    assert not Customer.objects.exists()


def test_sub_and_numbers_name_a_customer_too(app: App) -> None:
    assert app.bearing(signed_token(app, user_id=None, sub="7")).post("identify").status == 200
    assert app.bearing(signed_token(app, user_id=8)).post("identify").status == 200
    assert sorted(Customer.objects.values_list("external_id", flat=True)) == ["7", "8"]


def test_the_claims_of_a_token_are_traits(app: App) -> None:
    claims = {"email": "ada@x.example", "role": "admin", "plan": "pro", "company_id": "c-1"}
    page = app.page("1", **claims)
    assert page.post("identify", {"traits": {"plan": "free", "name": "Ada"}}).status == 200
    customer = Customer.objects.get()
    assert (customer.email, customer.plan, customer.name) == ("ada@x.example", "pro", "Ada")
    assert customer.company == Company.objects.get(external_id="c-1")


def test_a_page_proves_its_email_and_company(app: App) -> None:
    page = app.page("1", email="ada@x.example", company_id="c-1")
    other = {"traits": {"email": "victim@x.example"}}
    assert page.post("identify", other).refusal == (403, "traits.email")
    assert page.post("identify", {"company_id": "c-2"}).refusal == (403, "company_id")
    assert app.page("1").post("identify", {"company_id": "c-1"}).refusal == (403, "company_id")
    assert page.post("companies", {"company_id": "c-2"}).refusal == (403, "company_id")
    assert page.post("companies", {"company_id": "c-1"}).status == 200
    assert app.page().post("companies", {"company_id": "c-1"}).refusal == (403, "company_id")
    assert not Customer.objects.exists()


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({}, 200),
        ({"exp": time.time() + 7200}, 403),
        ({"exp": None}, 403),
        ({"exp": 1}, 403),
        ({"scope": "other"}, 403),
        ({"scope": None}, 403),
        ({"user_id": "1"}, 403),
    ],
)
def test_a_token_for_bulk_updates_lives_an_hour_and_names_nobody(
    app: App, claims: dict[str, Any], status: int
) -> None:
    token = signed_token(app, **({"user_id": None, "scope": "users.update"} | claims))
    assert app.bearing(token).post("users/update", WRITES["users/update"]).status == status


def test_a_token_for_bulk_updates_permits_nothing_else(app: App) -> None:
    token = signed_token(app, user_id=None, scope="users.update")
    assert app.bearing(token).post("identify", {"user_id": "1"}).status == 403


def test_an_address_that_nobody_proved_makes_no_customer_the_author(app: App) -> None:
    app.grant.customer(email="ada@x.example", external_id="1", name="Ada")
    sent = {"email": "ada@x.example", "subject": "Hello", "message": "Hi"}
    for caller, author in ((app.page(), None), (app.server(), "1"), (app.page("1"), "1")):
        ticket = Ticket.objects.get(pk=caller.post("tickets/create", sent).json["ticket_id"])
        assert (ticket.customer.external_id if ticket.customer else None) == author
    stranger = Ticket.objects.get(customer=None)
    assert stranger.metadata == {"email": "ada@x.example"}
    assert stranger.last_author_name == "ada@x.example"


def test_beacons_have_their_keys_in_the_body(app: App) -> None:
    token = app.page("1").headers["Authorization"].removeprefix("Bearer ")
    body = {"events": [EVENT], "api_key": app.organization.widget_key, "user_token": token}
    sent = json.dumps(body).encode()
    assert app.send("POST", "events", sent, "text/plain;charset=UTF-8").status == 200
    assert Event.objects.get().customer == Customer.objects.get(external_id="1")
    assert app.post("events", body | {"api_key": 5}).status == 401
    assert app.page().send("POST", "identify", sent, "text/plain").status == 415


def test_a_spent_limit_of_a_key_is_429(app: App, settings: Any) -> None:
    settings.HALO_RATE_SDK = Limit.parse("2/h")
    page = app.page()
    assert [page.post("events", {"events": [EVENT]}).status for _ in range(3)] == [200, 200, 429]
    refused = page.post("events", {"events": [EVENT]})
    assert refused.json["error"] == "rate_limited"
    assert int(refused.headers["Retry-After"]) > 0
    assert refused.headers["X-RateLimit-Limit"] == "2"
    assert own_app.create_app().page().post("events", {"events": [EVENT]}).status == 200


def test_a_spent_limit_of_an_address_is_429(app: App, settings: Any) -> None:
    settings.HALO_RATE_IP = Limit.parse("1/h")
    assert app.post("events").status == 401
    assert app.post("events").status == 429
    config = {"org_id": str(app.organization.pk)}
    assert Client().get(f"{SDK}config", config).status_code == 429


def test_pages_of_every_origin_may_call(app: App) -> None:
    origin = {"Origin": "https://shop.example"}
    asked = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "x-api-key,authorization,content-type,idempotency-key",
    }
    preflight = Client().options(f"{SDK}events", headers=origin | asked)
    assert preflight.headers["Access-Control-Allow-Origin"] == "*"
    allowed = preflight.headers["Access-Control-Allow-Headers"]
    assert {"x-api-key", "authorization", "content-type"} <= set(allowed.split(", "))
    for answer in (app.post("events", {}, **origin), app.page().post("events", {}, **origin)):
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert "Access-Control-Allow-Credentials" not in answer.headers


def test_the_config_of_a_suspended_organization_is_that_of_an_unknown_one(app: App) -> None:
    Organization.objects.filter(pk=app.organization.pk).update(suspended_at=timezone.now())
    unknown = "00000000-0000-7000-8000-000000000000"
    asked = [
        Client().get(f"{SDK}config", {"org_id": one}) for one in (app.organization.pk, unknown)
    ]
    assert {(one.status_code, one.content) for one in asked} == {(404, asked[0].content)}
    assert Client().get(f"{SDK}config", {"org_id": "5"}).json()["field"] == "org_id"
