"""Connections in a real browser, without script, against the real server process."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.callback import Callback
from tests.drivers.mcp import McpClient, http_transport
from tests.drivers.server import EMAIL, PASSWORD, Server
from tests.end_to_end.bare_client import BareClient

pytestmark = [pytest.mark.browser, pytest.mark.process]
LONG_NAME = "Client" * 20
# The page cuts off what is too wide instead of scrolling: every element is asked for its edge.
TOO_WIDE = """
    [...document.querySelectorAll('body *')]
        .filter(one => one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1)
        .map(one => one.outerHTML)
"""
# 44 CSS pixels are what WCAG 2.2 asks in 2.5.5, which excepts links inside a sentence.
TOO_SMALL = """
    [...document.querySelectorAll('main .button, main summary, .choice')]
        .filter(one => one.getBoundingClientRect().height < 44)
        .map(one => one.outerHTML)
"""


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A browser profile without script."""
    context = browser.new_context(java_script_enabled=False)
    yield context.new_page()
    context.close()


def connect_client(page: Page, server: Server, program: Callback, name: str) -> McpClient:
    """A client that registered, was approved in the browser and got its token."""
    client = BareClient(server, name, program.url, "docs:read setup:read")
    page.goto(client.authorize_url)
    if page.get_by_label("Password").count():
        page.get_by_label("Email address").fill(EMAIL)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Approve").click()
    tokens = client.redeem(program.arrival())
    return McpClient(tokens["access_token"], transport=http_transport(server.mcp_url))


def test_a_person_narrows_and_then_disconnects_a_client(
    page: Page, server: Server, program: Callback
) -> None:
    client = connect_client(page, server, program, "Kitchen terminal")
    assert client.call("setup_get_install_snippet").status == 200
    page.goto(f"{server.url}/")
    page.get_by_role("link", name="Connections").click()
    page.get_by_role("link", name="Change Kitchen terminal").click()
    page.get_by_label("Read the setup guide").uncheck()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text(
        "Removed with immediate effect: Read the setup guide"
    )
    assert client.call("setup_get_install_snippet").status == 403
    page.get_by_role("link", name="Disconnect").click()
    page.get_by_role("button", name="Disconnect").click()
    expect(page.get_by_role("status")).to_contain_text("Kitchen terminal")
    assert client.request("ping").status == 401


def test_the_pages_fit_narrow_screens_with_targets_a_finger_can_hit(
    page: Page, server: Server, program: Callback
) -> None:
    connect_client(page, server, program, LONG_NAME)
    connect_client(page, server, program, "Second")
    page.goto(f"{server.url}/connections")
    links = [
        page.get_by_role("link", name=f"{what} {LONG_NAME}").first.get_attribute("href")
        for what in ("Change", "Disconnect")
    ]
    for address in ("/connections", "/connections/revoke", *links):
        for width in (320, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            page.goto(f"{server.url}{address}")
            assert page.evaluate(TOO_WIDE) == [], (address, width)
            assert page.evaluate(TOO_SMALL) == [], (address, width)
