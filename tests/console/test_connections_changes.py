"""Narrowing and disconnecting: by the connection's own person, and from the next call on."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event, current_thread, main_thread
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest
from django.db import connections as databases
from django.test import Client

from audit.models import SecurityEvent
from foundation.ids import uuid7
from oauth.grants import authorizations, connections
from oauth.grants.connections import ScopeNotHeld
from oauth.models import Authorization
from oauth.scopes import ScopeSet
from tests.console import connected_people as cast
from tests.console import markup
from tests.drivers import grants
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.oauth_client import Browser, OAuthClient, Response, assert_refused, tokens_of
from tests.drivers.person import form_with
from workspace import organizations
from workspace.models import User

HELD = "docs:read setup:read"


@pytest.fixture
def mine(db: None) -> Grant:  # noqa: ARG001  opens the database for the test
    """A connection that holds two scopes."""
    return grants.make_grant(HELD)


@pytest.fixture
def browser(mine: Grant) -> Browser:
    return Browser(mine.user)


@pytest.fixture
def mcp(mine: Grant) -> McpClient:
    return McpClient(mine.token())


def events() -> list[str]:
    return list(SecurityEvent.objects.values_list("kind", flat=True))


def token_in(shown: Response) -> str:
    form = form_with(shown.content.decode(), "csrfmiddlewaretoken")
    return dict(form.fields)["csrfmiddlewaretoken"]


def test_a_scope_that_was_unticked_is_refused_from_the_next_call_on(
    mine: Grant, browser: Browser, mcp: McpClient
) -> None:
    assert mcp.call("setup_get_install_snippet").status == 200
    answer = cast.keep(browser, mine, "docs:read")
    reply = mcp.call("setup_get_install_snippet")
    assert (reply.status, reply.error["data"]["reason"]) == (403, "scope_denied")
    assert mcp.tool_names() == ["read_doc", "search_docs"]
    assert cast.scope_of(mine) == "docs:read"
    assert cast.read_messages(browser, answer) == [
        "Saved. Removed with immediate effect: Read the setup guide."
    ]


def test_disconnecting_ends_every_token_from_the_next_call_on(
    mine: Grant, browser: Browser, mcp: McpClient
) -> None:
    assert mcp.call("setup_get_install_snippet").status == 200
    answer = cast.press(browser, f"{cast.path(mine)}/revoke")
    assert mcp.call("setup_get_install_snippet").status == 401
    assert Authorization.objects.get().revoke_reason == "revoked_by_person"
    (text,) = cast.read_messages(browser, answer)
    assert text.startswith("Disconnected ")
    assert "Test client" in text


def test_disconnecting_all_ends_mine_and_nobody_elses(
    mine: Grant, browser: Browser, mcp: McpClient
) -> None:
    other = cast.another(mine)
    second = McpClient(other.token())
    theirs = McpClient(grants.make_grant().token())
    answer = cast.press(browser, cast.END_ALL)
    statuses = [one.request("ping").status for one in (mcp, second, theirs)]
    assert statuses == [401, 401, 200]
    assert cast.read_messages(browser, answer) == ["Disconnected 2 connections."]
    ended = SecurityEvent.objects.filter(kind="connection_revoked")
    assert {event.subject for event in ended} == {
        str(mine.authorization.pk),
        str(other.authorization.pk),
    }


def test_the_page_that_asks_about_all_says_how_many(mine: Grant, browser: Browser) -> None:
    cast.another(mine)
    assert "Disconnect all 2 connections?" in cast.page(browser, cast.END_ALL).text
    assert not cast.is_over(mine)


def test_opening_a_page_changes_nothing(mine: Grant, browser: Browser) -> None:
    program = Client()
    program.force_login(mine.user)
    for address in (cast.path(mine), f"{cast.path(mine)}/revoke", cast.END_ALL):
        cast.page(browser, address)
        assert program.head(address).status_code == 200
        assert program.delete(address).status_code == 405
    assert (cast.scope_of(mine), cast.is_over(mine), events()) == (HELD, False, [])


def test_each_change_is_on_record_with_who_where_and_what(mine: Grant, browser: Browser) -> None:
    cast.keep(browser, mine, "docs:read")
    cast.press(browser, f"{cast.path(mine)}/revoke")
    narrowed, revoked = SecurityEvent.objects.order_by("id")
    assert (narrowed.kind, narrowed.detail) == ("connection_narrowed", "took setup:read")
    assert revoked.kind == "connection_revoked"
    for event in (narrowed, revoked):
        assert event.subject == str(mine.authorization.pk)
        assert event.user_id == str(mine.user.pk)
        assert event.organization_id == str(mine.organization.pk)
        assert event.client_id == mine.client.client_id


@pytest.mark.parametrize(
    "ticked",
    [
        pytest.param(["docs:read", "actions:*"], id="wider"),
        pytest.param(["docs:read", "data:read"], id="other"),
        pytest.param(["docs:read setup:read"], id="joined"),
        pytest.param(["docs:read", "DOCS:READ"], id="case"),
        pytest.param(["docs:read", ""], id="empty"),
        pytest.param(["docs:read", "\0"], id="nul"),
        pytest.param(["nonsense"], id="unknown"),
    ],
)
def test_a_scope_that_it_does_not_have_is_refused_and_put_on_record(
    ticked: list[str], mine: Grant, browser: Browser
) -> None:
    response = cast.keep(browser, mine, *ticked)
    assert response.status_code == 400
    assert (
        "No change: this connection no longer has"
        in markup.read(response.content).one("p", role="alert").text
    )
    assert cast.scope_of(mine) == HELD
    event = SecurityEvent.objects.get()
    assert (event.kind, event.subject) == ("connection_forged", str(mine.authorization.pk))


def test_a_narrower_scope_of_one_it_has_is_not_on_its_page_either(
    mine: Grant, browser: Browser
) -> None:
    wide = cast.another(mine, "actions:*")
    assert cast.keep(browser, wide, "actions:hubspot:*").status_code == 400
    assert cast.scope_of(wide) == "actions:*"


def test_the_last_scope_cannot_be_unticked(mine: Grant, browser: Browser) -> None:
    response = cast.keep(browser, mine)
    assert response.status_code == 400
    alert = markup.read(response.content).one("p", role="alert").text
    assert alert == "Select at least one permission, or disconnect the client."
    assert (cast.scope_of(mine), events()) == (HELD, [])


def test_leaving_everything_ticked_changes_nothing(mine: Grant, browser: Browser) -> None:
    answer = cast.keep(browser, mine, "setup:read", "docs:read", "docs:read")
    assert cast.read_messages(browser, answer) == ["No change: nothing was unticked."]
    assert (cast.scope_of(mine), events()) == (HELD, [])


def test_what_a_remaining_scope_includes_is_said_to_be_still_allowed(
    mine: Grant, browser: Browser
) -> None:
    wide = cast.another(mine, "docs:read actions:*")
    answer = cast.keep(browser, wide, "actions:*")
    assert cast.read_messages(browser, answer) == [
        "Still allowed, because a remaining permission includes it: Read the documentation."
    ]
    assert McpClient(wide.token()).call("search_docs", {"query": "scope"}).status == 200


def test_a_page_that_was_left_open_gives_nothing_back(mine: Grant, browser: Browser) -> None:
    left_open = browser.open(cast.path(mine))
    cast.keep(browser, mine, "docs:read")
    response = browser.submit(left_open, "scope")
    shown = markup.read(response.content)
    assert response.status_code == 400
    assert [box.attributes["value"] for box in shown.all("input", name="scope")] == ["docs:read"]
    assert cast.scope_of(mine) == "docs:read"


def acts(connection_id: UUID) -> list[tuple[str, str]]:
    address = f"{cast.LIST}/{connection_id}"
    revoke = f"{address}/revoke"
    return [("GET", address), ("POST", address), ("GET", revoke), ("POST", revoke)]


def test_somebody_elses_connection_looks_like_none_at_all(browser: Browser) -> None:
    theirs = grants.make_grant(HELD)
    ids = (theirs.authorization.pk, uuid7())
    for there, nowhere in zip(*map(acts, ids), strict=True):
        answers = [_send(browser, *act) for act in (there, nowhere)]
        assert [answer.status_code for answer in answers] == [404, 404]
        # The page has its own address, to come back with another account.
        pages = [
            cast.remove_tokens(answer).replace(str(one).encode(), b"")
            for answer, one in zip(answers, ids, strict=True)
        ]
        assert pages[0] == pages[1]
        assert {*answers[0].headers.items()} == {*answers[1].headers.items()}
    assert (cast.scope_of(theirs), cast.is_over(theirs), events()) == (HELD, False, [])


def _send(browser: Browser, method: str, address: str) -> Response:
    if method == "GET":
        return browser.open(address)
    token = token_in(browser.open(cast.LIST))
    return browser.post(address, {"csrfmiddlewaretoken": token, "scope": "docs:read"})


@pytest.mark.parametrize("identifier", ["x", "1", "%00", "..", "018f"])
def test_what_is_no_identifier_is_not_found(identifier: str, browser: Browser) -> None:
    assert browser.open(f"{cast.LIST}/{identifier}").status_code == 404


def test_an_ended_connection_leads_back_to_the_list_and_changes_nothing(
    mine: Grant, browser: Browser
) -> None:
    authorizations.revoke(mine.authorization.pk, reason="revoked_by_admin")
    for method, address in acts(mine.authorization.pk):
        answer = _send(browser, method, address)
        assert answer["Location"] == cast.LIST
        assert cast.read_messages(browser, answer) == ["This connection was already disconnected."]
    assert Authorization.objects.get().revoke_reason == "revoked_by_admin"
    assert events() == []


def test_a_click_that_comes_second_is_shown_that_it_is_over(mine: Grant, browser: Browser) -> None:
    def ended_meanwhile(*_args: Any, **_kwargs: Any) -> bool:
        return False

    with patch.object(authorizations, "revoke", ended_meanwhile):
        answer = cast.press(browser, f"{cast.path(mine)}/revoke")
    assert cast.read_messages(browser, answer) == ["This connection was already disconnected."]
    assert events() == []


def test_a_form_of_another_site_changes_nothing(mine: Grant, browser: Browser) -> None:
    for address in (cast.path(mine), f"{cast.path(mine)}/revoke", cast.END_ALL):
        assert browser.post(address, {"scope": "docs:read"}).status_code == 403
    assert (cast.scope_of(mine), cast.is_over(mine)) == (HELD, False)


@pytest.fixture
def oauth_client(db: None) -> OAuthClient:  # noqa: ARG001  opens the database for the test
    client = OAuthClient()
    assert client.register().status_code == 201
    return client


def test_a_refresh_after_narrowing_names_what_is_left(
    oauth_client: OAuthClient, mine: Grant, browser: Browser
) -> None:
    pair = oauth_client.connect(browser)
    cast.keep(browser, _latest(mine), "docs:read")
    renewed = tokens_of(oauth_client.refresh(pair.refresh))
    assert renewed.scope == "docs:read"
    assert assert_refused(oauth_client.refresh(renewed.refresh, scope=HELD)) == (
        400,
        "invalid_scope",
    )


def test_a_refresh_token_of_which_nothing_is_left_starts_over(
    oauth_client: OAuthClient, mine: Grant, browser: Browser
) -> None:
    pair = oauth_client.connect(browser)
    narrow = tokens_of(oauth_client.refresh(pair.refresh, scope="setup:read"))
    cast.keep(browser, _latest(mine), "docs:read")
    assert assert_refused(oauth_client.refresh(narrow.refresh)) == (400, "invalid_grant")


def test_a_refresh_after_disconnecting_starts_over(
    oauth_client: OAuthClient, mine: Grant, browser: Browser
) -> None:
    pair = oauth_client.connect(browser)
    cast.press(browser, f"{cast.path(_latest(mine))}/revoke")
    assert assert_refused(oauth_client.refresh(pair.refresh)) == (400, "invalid_grant")


def _latest(mine: Grant) -> Grant:
    root = Authorization.objects.filter(user=mine.user).latest("pk")
    return replace(mine, client=root.client, authorization=root)


@pytest.mark.django_db(transaction=True)
def test_of_two_pages_narrowing_at_once_neither_gives_back_what_the_other_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    person = grants.make_grant("docs:read setup:read data:read")
    first_has_read, second_is_through = Event(), Event()
    keep = connections._keep

    def first_waits(row: Authorization, scope: ScopeSet) -> None:
        if current_thread() is not main_thread():
            first_has_read.set()
            second_is_through.wait(0.5)
        keep(row, scope)

    def first() -> None:
        _narrow(person, "docs:read", "setup:read")
        databases.close_all()

    monkeypatch.setattr(connections, "_keep", first_waits)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(first)
        assert first_has_read.wait(20)
        # Without the lock this one would take its turn first, and be overwritten.
        with pytest.raises(ScopeNotHeld):
            _narrow(person, "docs:read", "data:read")
        second_is_through.set()
        running.result(20)
    assert cast.scope_of(person) == "docs:read setup:read"


def _narrow(person: Grant, *ticked: str) -> None:
    connections.narrow(person.user, person.authorization.pk, ticked, address="127.0.0.1")


def test_the_same_person_in_two_organizations_ends_one_connection_at_a_time(
    mine: Grant, browser: Browser
) -> None:
    elsewhere = organizations.create("Globex", owner=User.objects.get(pk=mine.user.pk))
    other = cast.another(mine)
    membership = elsewhere.memberships.get()
    Authorization.objects.filter(pk=other.authorization.pk).update(
        organization=elsewhere, membership=membership
    )
    cast.press(browser, f"{cast.path(other)}/revoke")
    assert (cast.is_over(other), cast.is_over(mine)) == (True, False)
