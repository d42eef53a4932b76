"""A person connects a client in a real browser: signs in, reads, unticks, approves."""

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import chromium
from tests.browser.callback import Callback
from tests.browser.chromium import Visitor
from tests.drivers.server import Server
from tests.end_to_end.bare_client import BareClient

pytestmark = [pytest.mark.browser, pytest.mark.process]


def asked_for_consent(visitor: Visitor, client: BareClient) -> None:
    """Follow the client's link, through sign-in, to the page that asks."""
    visitor.open(client.authorize_url)
    visitor.sign_in()
    expect(visitor.page.get_by_role("button", name="Approve")).to_be_visible()


def test_approving_sends_the_browser_back_with_code_state_and_issuer(
    visitor: Visitor, server: Server, program: Callback
) -> None:
    client = BareClient(server, redirect_uri=program.url)
    asked_for_consent(visitor, client)

    visitor.page.get_by_role("button", name="Approve").click()

    answer = parse_qs(urlsplit(program.arrival()).query)
    assert answer.keys() == {"code", "state", "iss"}
    assert answer["state"] == [client.state]
    assert answer["iss"] == [server.url]
    expect(visitor.page).to_have_title("Connected")


def test_what_was_unticked_is_not_granted(
    visitor: Visitor, server: Server, program: Callback
) -> None:
    client = BareClient(server, redirect_uri=program.url, scope="docs:read setup:read")
    asked_for_consent(visitor, client)

    visitor.page.get_by_role("checkbox", name="setup:read").uncheck()
    visitor.page.get_by_role("button", name="Approve").click()

    assert client.redeem(program.arrival())["scope"] == "docs:read"


def test_cancelling_sends_the_browser_back_without_a_code(
    visitor: Visitor, server: Server, program: Callback
) -> None:
    client = BareClient(server, redirect_uri=program.url)
    asked_for_consent(visitor, client)

    visitor.page.get_by_role("button", name="Cancel").click()

    answer = parse_qs(urlsplit(program.arrival()).query)
    assert answer["error"] == ["access_denied"]
    assert answer["state"] == [client.state]
    assert "code" not in answer


def test_unticking_everything_asks_again(
    visitor: Visitor, server: Server, program: Callback
) -> None:
    client = BareClient(server, redirect_uri=program.url, scope="docs:read")
    asked_for_consent(visitor, client)

    visitor.page.get_by_role("checkbox", name="docs:read").uncheck()
    visitor.page.get_by_role("button", name="Approve").click()

    expect(visitor.page.get_by_text("Select at least one permission")).to_be_visible()
    assert program.arrivals.empty()


def test_an_app_s_own_scheme_is_redirected_to_and_no_policy_stops_it(
    visitor: Visitor, server: Server
) -> None:
    client = BareClient(server, redirect_uri="cursor://anysphere.cursor-mcp/oauth/callback")
    asked_for_consent(visitor, client)

    with visitor.page.expect_response(lambda answer: answer.request.method == "POST") as answered:
        visitor.page.get_by_role("button", name="Approve").click(no_wait_after=True)

    # No app answers to the scheme here, so the browser stays where it is.
    assert answered.value.status == 302
    assert client.redeem(answered.value.headers["location"])["token_type"] == "Bearer"


def test_the_keyboard_alone_is_enough_and_shows_where_it_is(
    visitor: Visitor, server: Server, program: Callback
) -> None:
    client = BareClient(server, redirect_uri=program.url, scope="docs:read setup:read")
    asked_for_consent(visitor, client)

    unseen = []
    for _ in range(40):
        visitor.page.keyboard.press("Tab")
        focused = visitor.page.evaluate(FOCUSED)
        unseen += [] if focused["outlined"] else [focused["name"]]
        if focused["name"] == "setup:read":
            visitor.page.keyboard.press("Space")
        if focused["name"] == "approve":
            visitor.page.keyboard.press("Enter")
            break

    assert client.redeem(program.arrival())["scope"] == "docs:read"
    assert unseen == []


FOCUSED = """(() => {
    const style = getComputedStyle(document.activeElement)
    const outlined = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2
    return {name: document.activeElement.value || document.activeElement.textContent, outlined}
})()"""


def test_pressing_enter_in_the_form_does_not_approve(
    visitor: Visitor, server: Server, program: Callback
) -> None:
    asked_for_consent(visitor, BareClient(server, redirect_uri=program.url))

    visitor.page.get_by_role("checkbox").first.press("Enter")

    assert "error=access_denied" in program.arrival()


def test_the_consent_page_refuses_to_be_framed(
    browser: Browser, server: Server, program: Callback
) -> None:
    client = BareClient(server, redirect_uri=program.url)
    with chromium.visiting(browser, server.url) as visitor:
        asked_for_consent(visitor, client)
        address = client.authorize_url.replace("&", "&amp;")
        program.page = f'<!DOCTYPE html><title>Trap</title><iframe src="{address}"></iframe>'

        with visitor.page.expect_console_message(lambda said: "frame-ancestors" in said.text):
            visitor.open(program.url.removesuffix("/callback"))

        framed = visitor.page.frames[1]
        assert framed.get_by_role("button", name="Approve").count() == 0
        assert any("frame-ancestors" in problem for problem in visitor.problems)
