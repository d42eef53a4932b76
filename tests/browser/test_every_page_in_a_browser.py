"""Every page in a real browser: on a phone, at night, and within its own policy."""

import os
import re
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, expect

from tests.browser import addresses, chromium, contrast
from tests.browser.chromium import Visitor
from tests.drivers.person import Person
from tests.drivers.server import Server, evaluate
from tests.end_to_end.bare_client import BareClient

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.once]

CUSTOMER = """
from django.contrib.admin.utils import quote
from workspace.models import Customer, Organization
email = "a.customer.with.a.long.address@quill.example"
row = Customer(organization=Organization.objects.first(), email=email, name="Zoe Quill")
row.save()
print(f"/admin/workspace/customer/{quote(row.pk)}/change/")
"""
CALLS = "/admin/audit/actionexecution/"
FOR_ANYONE = [
    *addresses.FOR_ANYONE,
    "/docs/scopes",
]
SIGNED_IN = [
    *addresses.FOR_AN_ADMIN,
    "/",
    "/ask",
    "/connections",
    "/connections/revoke",
    "/account/security",
    "/account/security/password",
    "/signin/confirm",
    "/signout",
    "/admin/mfa/authenticator/",
    f"{CALLS}?outcome=success",
]


@pytest.fixture(scope="module")
def client(server: Server) -> BareClient:
    """A client that was approved and made one call."""
    client = BareClient(server, f"A client with {'a name of great length and ' * 6}more"[:180])
    token = client.connect(Person())
    call = {"name": "search_docs", "arguments": {"query": "how do scopes work"}}
    sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    headers = {"Authorization": f"Bearer {token}"}
    assert httpx2.post(server.mcp_url, json=sent, headers=headers, timeout=60).status_code == 200
    return client


@pytest.fixture(scope="module")
def session(browser: Browser, server: Server, client: BareClient) -> Any:  # noqa: ARG001  its rows
    """The cookies of an admin."""
    with chromium.visiting(browser, server.url) as visitor:
        return visitor.signed_in().page.context.storage_state()


@pytest.fixture
def stranger(browser: Browser, server: Server) -> Iterator[Visitor]:
    with chromium.visiting(browser, server.url, viewport=chromium.PHONE) as visitor:
        yield visitor
        assert visitor.problems == []


@pytest.fixture
def admin(browser: Browser, server: Server, session: Any) -> Iterator[Visitor]:
    given = {"viewport": chromium.PHONE, "storage_state": session}
    with chromium.visiting(browser, server.url, **given) as visitor:
        yield visitor
        assert visitor.problems == []


def assert_is_fit_to_be_seen(visitor: Visitor, pictures: Path) -> None:
    """The page that is open can be used at 390 and at 1280 pixels, by day and by night."""
    path = visitor.page.url.removeprefix(visitor.url)
    name = re.sub(r"\W+", "-", path).strip("-")[-60:] or "home"
    for width, size in (("phone", chromium.PHONE), ("desktop", chromium.DESKTOP)):
        visitor.page.set_viewport_size(size)
        for scheme in ("light", "dark"):
            visitor.page.emulate_media(color_scheme=scheme)
            if os.environ.get(chromium.WANTED_PICTURES):  # two hundred: a third of all the time
                visitor.page.screenshot(
                    path=pictures / f"{name}-{width}-{scheme}.png",
                    full_page=True,
                    animations="disabled",
                )
            assert contrast.hard_to_read(visitor.page) == [], scheme
        assert visitor.too_wide_by == 0, width


@pytest.mark.parametrize("path", FOR_ANYONE)
def test_a_page_for_anyone(stranger: Visitor, path: str, pictures: Path) -> None:
    stranger.open(path)

    assert_is_fit_to_be_seen(stranger, pictures)


def test_the_page_about_a_form_sent_astray(stranger: Visitor, pictures: Path) -> None:
    stranger.send_astray()

    assert_is_fit_to_be_seen(stranger, pictures)


@pytest.mark.parametrize("path", SIGNED_IN)
def test_a_page_for_an_admin(admin: Visitor, path: str, pictures: Path) -> None:
    admin.open(path)

    assert_is_fit_to_be_seen(admin, pictures)


def test_the_pages_of_a_customer(admin: Visitor, server: Server, pictures: Path) -> None:
    address = evaluate(server.env, CUSTOMER).strip()
    admin.open(address)
    expect(admin.page.get_by_role("link", name="Export data")).to_be_visible()
    assert_is_fit_to_be_seen(admin, pictures)
    admin.page.get_by_role("link", name="Erase").click()
    expect(admin.page.get_by_role("button", name="Erase")).to_be_visible()
    assert_is_fit_to_be_seen(admin, pictures)


def test_the_consent_page(admin: Visitor, client: BareClient, pictures: Path) -> None:
    admin.open(client.authorize_url)

    expect(admin.page.get_by_role("button", name="Approve")).to_be_visible()
    assert_is_fit_to_be_seen(admin, pictures)


BOXES = """
[...document.querySelectorAll('.choice')].map(choice => {
    const range = document.createRange()
    range.selectNodeContents(choice.querySelector('label').firstChild)
    const [first, second] = range.getClientRects()
    const box = choice.querySelector('input').getBoundingClientRect()
    return {
        wraps: Boolean(second),
        offset: Math.abs((box.top + box.bottom) - (first.top + first.bottom)) / 2,
        above: first.top - choice.getBoundingClientRect().top,
    }
})
"""


def test_a_box_stands_next_to_the_first_line_of_its_title(
    admin: Visitor, client: BareClient
) -> None:
    admin.page.set_viewport_size({"width": 320, "height": 640})
    admin.open(client.authorize_url)
    boxes = admin.page.evaluate(BOXES)

    assert any(box["wraps"] for box in boxes)
    assert all(box["offset"] < 4 and box["above"] > 8 for box in boxes), boxes


def test_night_is_dark_and_day_is_light(stranger: Visitor) -> None:
    stranger.open("/")
    seen = {}
    for scheme in ("light", "dark"):
        stranger.page.emulate_media(color_scheme=scheme)
        grounds = [contrast.luminance(text.behind) for text in contrast.texts_on(stranger.page)]
        seen[scheme] = statistics.median(grounds)

    assert seen["dark"] < 0.1
    assert seen["light"] > 0.7


def test_an_admin_filters_the_calls_and_opens_one(admin: Visitor, client: BareClient) -> None:
    admin.page.set_viewport_size(chromium.DESKTOP)
    admin.open(CALLS)

    admin.page.locator("summary", has_text="Outcome").click()
    admin.page.get_by_role("link", name="Success").click()
    # The newest: a worker that does this file in parts has a client for each, on one server.
    row = admin.page.get_by_role("row").filter(has_text=client.name).first
    expect(row).to_contain_text("search_docs")
    row.get_by_role("link").first.click()

    expect(admin.page.get_by_text("how do scopes work")).to_be_visible()
    expect(admin.page.get_by_role("button", name="Save")).to_have_count(0)
    expect(admin.page.get_by_role("link", name="Delete")).to_have_count(0)
