"""ux.md 13: the buttons of the consent page stay in view, and what is new is next to them."""

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from tests.browser import chromium
from tests.browser.callback import Callback
from tests.browser.chromium import Visitor
from tests.drivers.server import Server
from tests.end_to_end.bare_client import CALLBACK, BareClient

pytestmark = [pytest.mark.browser, pytest.mark.process]

LONG_NAME = "The Extremely Helpful Assistant for Customer Support and Operations"
EVERYTHING = "docs:read setup:read data:read actions:*"


def ask(
    visitor: Visitor, server: Server, scope: str = EVERYTHING, redirect_uri: str = CALLBACK
) -> BareClient:
    client = BareClient(server, LONG_NAME, redirect_uri, scope)
    visitor.open(client.authorize_url)
    visitor.sign_in()
    expect(visitor.page.get_by_role("button", name="Approve")).to_be_visible()
    return client


@pytest.mark.parametrize("size", [chromium.DESKTOP, chromium.PHONE], ids=["desktop", "phone"])
def test_ux_13_the_buttons_are_in_view_from_top_to_bottom(
    size: ViewportSize, browser: Browser, server: Server
) -> None:
    with chromium.visiting(browser, server.url, viewport=size) as visitor:
        ask(visitor, server)
        page = visitor.page
        for top in ("0", "document.body.scrollHeight / 2", "document.body.scrollHeight"):
            page.evaluate(f"window.scrollTo(0, {top})")
            for name in ("Cancel", "Approve"):
                expect(page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
        assert visitor.too_wide_by == 0
        assert visitor.problems == []


def test_ux_13_what_asks_for_a_second_approval_has_the_focus_next_to_the_buttons(
    browser: Browser, server: Server
) -> None:
    with chromium.visiting(browser, server.url, viewport=chromium.PHONE) as visitor:
        ask(visitor, server)
        page = visitor.page
        page.get_by_role("checkbox", name="docs:read").uncheck()
        page.get_by_role("button", name="Approve").click()
        notice = page.get_by_role("status")
        expect(notice).to_contain_text("Approve again to confirm.")
        expect(notice).to_be_focused()
        expect(notice).to_be_in_viewport(ratio=1)
        for name in ("Cancel", "Approve"):
            page.keyboard.press("Tab")
            expect(page.get_by_role("button", name=name)).to_be_focused()


def test_a_box_that_gets_the_focus_is_not_behind_the_bar(browser: Browser, server: Server) -> None:
    with chromium.visiting(browser, server.url, viewport=chromium.PHONE) as visitor:
        ask(visitor, server)
        page = visitor.page
        for name in ("docs:read", "setup:read", "data:read", "actions:*"):
            box = page.get_by_role("checkbox", name=name)
            box.focus()
            # A click at its middle must reach it (WCAG 2.2, 2.4.11).
            box.click(trial=True)
            hit = box.evaluate(
                """box => {
                    const {x, y, width, height} = box.getBoundingClientRect()
                    return document.elementFromPoint(x + width / 2, y + height / 2) === box
                }"""
            )
            assert hit, name


def test_what_changes_data_is_allowed_by_a_click_of_the_person(
    browser: Browser, server: Server, program: Callback
) -> None:
    with chromium.visiting(browser, server.url, viewport=chromium.PHONE) as visitor:
        client = ask(visitor, server, "docs:read", program.url)
        page = visitor.page
        apart = page.get_by_role("group", name="Act on your behalf")
        box = apart.get_by_role("checkbox", name="actions:*")
        expect(page.get_by_role("checkbox", name="docs:read")).to_be_checked()
        expect(box).not_to_be_checked()
        expect(apart).to_contain_text("These can change data.")
        expect(apart).to_contain_text("The client did not request this.")
        box.check()
        page.get_by_role("button", name="Approve").click()
        assert client.redeem(program.arrival())["scope"] == "docs:read actions:*"
