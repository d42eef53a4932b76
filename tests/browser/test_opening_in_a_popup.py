"""A web client of another origin opens the authorization in a popup and watches its window (P1)."""

import pytest
from playwright.sync_api import expect

from tests.browser.callback import Callback
from tests.browser.chromium import Visitor
from tests.drivers.server import Server
from tests.end_to_end.bare_client import BareClient

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.once]


def test_p1_the_popup_keeps_its_opener_from_sign_in_to_the_client(
    visitor: Visitor, server: Server, program: Callback
) -> None:
    client = BareClient(server, redirect_uri=program.url)
    page = visitor.page
    page.goto(program.url.removesuffix("/callback"))

    with page.expect_popup() as opening:
        page.evaluate("address => { window.popup = window.open(address) }", client.authorize_url)
    popup = opening.value

    def is_open() -> bool:
        return bool(page.evaluate("() => !window.popup.closed"))

    popup.get_by_label("Email").fill("nobody@example.com")
    popup.get_by_label("Password", exact=True).fill("wrong")
    popup.get_by_role("button", name="Sign in", exact=True).click()
    expect(popup.get_by_text("Incorrect email or password.")).to_be_visible()
    assert is_open()
    in_popup = Visitor(popup, server.url)
    in_popup.sign_in()
    expect(popup.get_by_role("button", name="Approve")).to_be_visible()
    assert is_open()
    popup.get_by_role("button", name="Approve").click()
    expect(popup).to_have_title("Connected")
    assert is_open()
    assert popup.evaluate("() => window.opener !== null && !window.opener.closed")


def test_p1_a_client_that_is_unknown_is_reported_in_a_popup_that_stays_open(
    visitor: Visitor, server: Server, program: Callback
) -> None:
    page = visitor.page
    page.goto(program.url.removesuffix("/callback"))
    unknown = f"{server.mcp_url}/oauth/authorize?client_id=nobody&response_type=code"
    with page.expect_popup() as opening:
        page.evaluate("address => { window.popup = window.open(address) }", unknown)
    expect(opening.value.get_by_role("heading", level=1)).to_be_visible()
    assert page.evaluate("() => !window.popup.closed")
