"""Group H: who may come in, and that everybody else learns nothing."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.test import Client as DjangoClient
from django.utils import timezone

from audit.models import ActionExecution, SecurityEvent
from documentation import search
from foundation import ids
from oauth.models import AccessToken, Authorization
from tests.drivers.asgi import application, exchange, scope_of
from tests.drivers.grants import Grant
from tests.drivers.mcp import HOST, McpClient, Reply
from workspace.models import Membership, Organization

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
METADATA = "http://127.0.0.1:8000/.well-known/oauth-protected-resource/api/mcp"
SERVER = "http://127.0.0.1:8000/.well-known/oauth-authorization-server"
CHALLENGE = f'Bearer realm="halo-mcp", resource_metadata="{METADATA}", as_uri="{SERVER}"'


def send_with(*authorization: str, query: str = "", cookie: str = "") -> Reply:
    """A ping with Authorization headers as they are, also several."""
    headers = [("Host", HOST), ("Content-Type", "application/json")]
    headers += [("Authorization", value) for value in authorization]
    headers += [("Cookie", cookie)] if cookie else []
    with application() as app:
        return exchange(app, scope_of("POST", headers, query=query), [PING]).reply


def assert_unauthorized(reply: Reply) -> str:
    """The challenge of a 401, once everything else about the answer is as it should be."""
    assert reply.status == 401
    assert reply.json["id"] is None
    assert reply.code == -32001
    challenge = reply.headers["www-authenticate"]
    assert challenge.startswith(CHALLENGE)
    assert 'scope="docs:read setup:read data:read"' in challenge
    return challenge


@pytest.mark.django_db
@pytest.mark.parametrize("header", [None, "Basic eDp5", "Bearer", "Bearer ", "Digest x"], ids=repr)
def test_h01_who_shows_no_bearer_is_shown_where_to_sign_in(header: str | None) -> None:
    reply = McpClient().send(PING, headers={"Authorization": header})
    assert "error=" not in assert_unauthorized(reply)
    assert SecurityEvent.objects.get().kind == "bearer_missing"
    assert not ActionExecution.objects.exists()


def expire(grant: Grant) -> None:
    AccessToken.objects.filter(authorization=grant.authorization).update(expires=timezone.now())


def move_resource(grant: Grant) -> None:
    Authorization.objects.filter(pk=grant.authorization.pk).update(
        resource="https://other.example/api/mcp"
    )


def deactivate(grant: Grant) -> None:
    grant.user.is_active = False
    grant.user.save()


def suspend(grant: Grant) -> None:
    Organization.objects.filter(pk=grant.organization.pk).update(suspended_at=timezone.now())


def leave(grant: Grant) -> None:
    Membership.objects.filter(pk=grant.membership.pk).delete()


def disable_client(grant: Grant) -> None:
    grant.client.disabled_at = timezone.now()
    grant.client.save()


ENDINGS = [
    expire,
    Grant.revoke,
    move_resource,
    deactivate,
    suspend,
    leave,
    disable_client,
]


@pytest.mark.parametrize("end", ENDINGS, ids=lambda end: end.__name__)
def test_h02_h08_a_token_that_no_longer_stands_is_refused_on_the_very_next_request(
    mcp: McpClient, grant: Grant, end: Callable[[Grant], Any]
) -> None:
    assert mcp.send(PING).status == 200
    end(grant)
    refused = mcp.send(PING)
    unknown = mcp.holding(ids.opaque("halo_at_")).send(PING)
    assert assert_unauthorized(refused).endswith('error="invalid_token"')
    # Nothing tells why: the answer is that of a token nobody ever issued.
    assert refused.body == unknown.body
    assert refused.headers["www-authenticate"] == unknown.headers["www-authenticate"]


@pytest.mark.django_db
def test_h02_strangers_are_counted_once_a_minute_and_leave_no_audit_row() -> None:
    with time_machine.travel("2026-01-01T10:00:05Z", tick=False):
        for _ in range(3):
            McpClient(ids.opaque("halo_at_")).send(PING)
    event = SecurityEvent.objects.get()
    assert (event.kind, event.count, event.detail) == ("bearer_rejected", 3, "invalid_token")
    assert (event.organization_id, event.subject) == ("", "")
    assert not ActionExecution.objects.exists()


def test_h04_a_token_in_the_address_is_refused_even_next_to_a_good_one(grant: Grant) -> None:
    token = grant.token()
    assert assert_unauthorized(send_with(query=f"access_token={token}"))
    both = send_with(f"Bearer {token}", query=f"access_token={token}")
    assert 'error="invalid_request"' in assert_unauthorized(both)
    assert both.json["error"]["message"] == (
        "Tokens in the URL are not accepted. Send the token in the Authorization header."
    )
    assert token not in str(list(SecurityEvent.objects.values()))


def test_h04_a_token_in_a_form_body_is_no_bearer(grant: Grant) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert_unauthorized(McpClient().send(f"access_token={grant.token()}".encode(), headers=form))


def test_h05_two_authorization_headers_are_refused(grant: Grant) -> None:
    good = f"Bearer {grant.token()}"
    assert_unauthorized(send_with(good, good))
    assert_unauthorized(send_with(good, "Basic eDp5"))


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ("bearer {}", 200),
        ("BEARER {}", 200),
        ("Bearer  {}", 200),
        ("Bearer {}, Bearer {}", 401),
        ("Bearer {} junk", 401),
        ("Bearer {},", 401),
        ("Bearer{}", 401),
        ("Bearer\t{}", 401),
        ('Bearer "{}"', 401),
    ],
)
def test_h05_the_scheme_is_read_in_any_case_and_nothing_may_follow(
    grant: Grant, form: str, status: int
) -> None:
    assert send_with(form.replace("{}", grant.token())).status == status


def test_h07_a_token_is_dead_in_the_very_second_it_expires(grant: Grant) -> None:
    with time_machine.travel("2026-01-01T10:00:00Z", tick=False) as clock:
        mcp = McpClient(grant.token())
        clock.shift(timedelta(seconds=3599))
        assert mcp.send(PING).status == 200
        clock.shift(timedelta(seconds=1))
        assert mcp.send(PING).status == 401


def test_h11_a_signed_in_browser_is_a_stranger_here(grant: Grant) -> None:
    browser = DjangoClient(enforce_csrf_checks=True)
    browser.force_login(grant.user)
    name = settings.SESSION_COOKIE_NAME
    cookie = f"{name}={browser.cookies[name].value}"
    assert_unauthorized(send_with(cookie=cookie))
    here = {"Host": HOST}
    reply = browser.post("/api/mcp", PING, content_type="application/json", headers=here)
    assert reply.status_code == 401


def test_h13_a_session_id_of_somebody_else_means_nothing(mcp: McpClient, grant: Grant) -> None:
    mcp.call("nope", headers={"Mcp-Session-Id": "of-another-user"})
    row = ActionExecution.objects.get()
    assert row.user_id == str(grant.user.pk)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "key", ["holly_live_abcdef", "sk-abc", "halo_rt_" + "a" * 43, "halo_at_short"], ids=repr
)
def test_h14_other_kinds_of_credentials_are_refused(key: str) -> None:
    assert 'error="invalid_token"' in assert_unauthorized(McpClient(key).send(PING))


def test_f08_a_call_that_runs_while_its_token_is_revoked_finishes(
    mcp: McpClient, grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def revoked_meanwhile(*_given: Any) -> search.DocumentationAnswer:
        grant.revoke()
        return search.DocumentationAnswer()

    monkeypatch.setattr(search, "answer", revoked_meanwhile)
    assert mcp.call("search_docs", {"query": "x"}).facts["results"] == []
    assert mcp.send(PING).status == 401
    row, root = ActionExecution.objects.get(), Authorization.objects.get()
    assert row.outcome == "success"
    # The row names the token family, which ended while the call was running.
    assert row.authorization_id == str(root.pk)
    assert root.revoked_at is not None
    assert root.revoked_at >= row.started_at
