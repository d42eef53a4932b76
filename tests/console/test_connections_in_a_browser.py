"""Connections in a real browser, without script, against the real server process."""

import shutil
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.drivers.mcp import McpClient, over_http
from tests.drivers.oauth_client import CALLBACK, REGISTER, TOKEN, OAuthClient
from tests.drivers.server import EMAIL, PASSWORD, Server

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.process,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed here"),
]
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
def page() -> Iterator[Page]:
    """A browser without script that stays where a client's answer would go."""
    with sync_playwright() as playwright:
        # Containers commonly run as root, where Chromium's sandbox does not start.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(java_script_enabled=False)
        page.route(f"{CALLBACK}*", lambda route: route.fulfill(body="Back in the client."))
        yield page
        browser.close()


def connected(page: Page, server: Server, name: str) -> McpClient:
    """A client that registered, was approved in the browser and got its token."""
    document = {"client_name": name, "redirect_uris": [CALLBACK]}
    document |= {"token_endpoint_auth_method": "none"}
    registered = httpx2.post(server.url + REGISTER, json=document, timeout=30).json()
    asked = OAuthClient(client_id=registered["client_id"])
    page.goto(server.url + asked.authorize_address())
    if page.get_by_label("Password").count():
        page.get_by_label("Email address").fill(EMAIL)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Approve").click()
    page.wait_for_url(f"{CALLBACK}*")
    proof = {
        "grant_type": "authorization_code",
        "code": parse_qs(urlsplit(page.url).query)["code"][0],
        "client_id": asked.client_id,
        "code_verifier": asked.verifier,
    }
    tokens = httpx2.post(server.url + TOKEN, data=proof, timeout=30).json()
    return McpClient(tokens["access_token"], transport=over_http(server.mcp_url))


def test_a_person_narrows_and_then_disconnects_a_client(page: Page, server: Server) -> None:
    client = connected(page, server, "Kitchen terminal")
    assert client.call("setup_get_install_snippet").status == 200
    page.goto(f"{server.url}/")
    page.get_by_role("link", name="Connections").click()
    page.get_by_role("link", name="Change Kitchen terminal").click()
    page.get_by_label("Read the setup guide").uncheck()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text("no longer use: Read the setup guide")
    assert client.call("setup_get_install_snippet").status == 403
    page.get_by_role("link", name="Disconnect").click()
    page.get_by_role("button", name="Disconnect").click()
    expect(page.get_by_role("status")).to_contain_text("Kitchen terminal")
    assert client.request("ping").status == 401


def test_the_pages_fit_narrow_screens_with_targets_a_finger_can_hit(
    page: Page, server: Server
) -> None:
    connected(page, server, LONG_NAME)
    connected(page, server, "Second")
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
