"""A new admin connects every vendor and turns its switches, and a client that listens follows.

The server is as a first start leaves it, the vendors are fakes, and the admin finds each page
by its links.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import chromium
from tests.browser.chromium import Visitor
from tests.browser.test_switches_in_a_browser import press
from tests.drivers import background_client
from tests.drivers.admin_pages import PASSWORD
from tests.drivers.background_client import BackgroundClient
from tests.drivers.fake_vendors import all_vendors, linear, stripe
from tests.drivers.fake_vendors.all_vendors import AllVendors
from tests.drivers.fake_vendors.contract import FakeVendor
from tests.drivers.mcp import McpClient, http_transport
from tests.drivers.person import Person
from tests.drivers.server import Server
from tests.end_to_end.bare_client import BareClient

pytestmark = [pytest.mark.browser, pytest.mark.process]

MARK = "Renewal-4711"
# A card clips what is wider than itself, so that the page as a whole is none too wide.
CUT_OFF = """
    [...document.querySelectorAll('fieldset *')].filter(one => one.checkVisibility()
        && one.getBoundingClientRect().right > one.closest('fieldset').getBoundingClientRect().right
    ).map(one => one.outerHTML)
"""
FORMS = {
    "import": "/admin/workspace/dataimport/add/",
    "mode": "/admin/tools_registry/integrationmode/add/",
    "person": "/admin/workspace/user/add/",
}
REFUND = {"payment": "ch_4711", "why": "Billed twice for March."}


@dataclass(frozen=True)
class VendorCase:
    """What an admin pastes for one vendor, the action they turn on, and a call of it."""

    title: str
    label: str
    credential: str
    action: str
    tool: str
    arguments: dict[str, Any]
    settings: dict[str, str] = field(default_factory=dict)
    mark: str = MARK

    @property
    def integration(self) -> str:
        return self.tool.partition(".")[0]

    @property
    def mode(self) -> str:
        return f"Actions mode of {self.title}"


CASES = [
    VendorCase(
        title="HubSpot",
        label="Service key, or token of a private app",
        credential=FakeVendor.token,
        action="Create a deal",
        tool="hubspot.create_deal",
        arguments={"name": MARK},
    ),
    VendorCase(
        title="Linear",
        label="Personal API key",
        credential=linear.KEY,
        action="Report a bug",
        tool="linear.create_bug",
        arguments={"title": MARK, "description": "It says 4711."},
        settings={"Default team": "ENG"},
    ),
    VendorCase(
        title="Slack",
        label="Bot token",
        credential=FakeVendor.token,
        action="Post a message",
        tool="slack.post_message",
        arguments={"text": MARK},
        settings={"Default channel": "#support"},
    ),
    VendorCase(
        title="Stripe",
        label="Secret or restricted API key",
        credential=stripe.KEY,
        action="Request a refund",
        tool="stripe.request_refund",
        arguments=REFUND,
        mark="ch_4711",
    ),
]
STRIPE = CASES[-1]


@pytest.fixture(scope="module")
def vendors(new_server: Server) -> Iterator[AllVendors]:
    with all_vendors.open_vendors(new_server.env) as vendors:
        vendors.stripe.charge(4200, id="ch_4711")
        yield vendors


@pytest.fixture(scope="module")
def token(new_server: Server) -> str:
    return BareClient(new_server, "An editor", scope="actions:*").connect(Person())


@pytest.fixture
def client(new_server: Server, token: str) -> Iterator[BackgroundClient]:
    with background_client.listening(new_server.mcp_url, token) as client:
        yield client


@pytest.fixture(scope="module")
def admin_visitor(browser: Browser, new_server: Server) -> Iterator[Visitor]:
    with chromium.visiting(browser, new_server.url) as visitor:
        yield visitor.open_and_sign_in()
        assert visitor.problems == []


@pytest.fixture
def admin(admin_visitor: Visitor) -> Visitor:
    """On the page with the switches, which the front of the admin leads to."""
    open_switches(admin_visitor)
    return admin_visitor


def open_switches(visitor: Visitor) -> None:
    visitor.open("/admin/")
    visitor.page.get_by_role("link", name="Integrations and their switches").click()
    expect(visitor.page.get_by_role("heading", name="Switches of Demo")).to_be_visible()


def connect(page: Page, case: VendorCase) -> None:
    """Paste the credential and have it checked, and go back to the switches."""
    page.get_by_role("link", name=f"Connection of {case.title}").click()
    page.get_by_label(case.label).fill(case.credential)
    for label, value in case.settings.items():
        page.get_by_label(label).fill(value)
    page.get_by_role("button", name="Save and check").click()
    expect(page.get_by_text(f"{case.title} is connected: {case.title}")).to_be_visible()
    page.get_by_role("link", name="Back", exact=True).click()
    page.get_by_role("link", name=f"Switches of {case.title}").click()
    panel = page.get_by_role("region", name=case.title, exact=True)
    expect(panel.get_by_text("Connected", exact=True)).to_be_visible()


def disconnect(page: Page, case: VendorCase) -> None:
    page.get_by_role("link", name=f"Connection of {case.title}").click()
    page.get_by_role("button", name="Disconnect").click()
    expect(page.get_by_text(f"Disconnected {case.title}.")).to_be_visible()


def refused_without_a_request(
    client: BackgroundClient, vendors: AllVendors, case: VendorCase
) -> str:
    """The reason for which a call is refused of which the vendor never hears."""
    before = vendors.received_requests(case.integration)
    reason = client.refusal(case.tool, case.arguments)
    assert vendors.received_requests(case.integration) == before
    return reason


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.integration)
def test_a_client_follows_from_the_first_credential_to_the_last_switch(
    admin: Visitor, client: BackgroundClient, vendors: AllVendors, case: VendorCase
) -> None:
    page, before = admin.page, client.tools()
    assert refused_without_a_request(client, vendors, case) == "not_connected"
    connect(page, case)
    assert refused_without_a_request(client, vendors, case) == "agent_disabled"

    press(page, case.action, f"Turned on: {case.tool}")
    client.waits_until_it_has(before | {case.tool})
    silent = len(vendors.received_requests(case.integration))
    client.call(case.tool, case.arguments)
    assert any(case.mark in each for each in vendors.received_requests(case.integration)[silent:])

    press(page, case.mode, f"Turned off: Actions mode of {case.title}")
    client.waits_until_it_has(before)
    assert refused_without_a_request(client, vendors, case) == "integration_disabled"
    press(page, case.mode, f"Turned on: Actions mode of {case.title}")
    client.waits_until_it_has(before | {case.tool})
    press(page, case.action, f"Turned off: {case.tool}")
    client.waits_until_it_has(before)
    assert refused_without_a_request(client, vendors, case) == "agent_disabled"
    disconnect(page, case)
    assert refused_without_a_request(client, vendors, case) == "not_connected"


def test_without_the_mcp_server_everything_is_forbidden(
    admin: Visitor, new_server: Server, token: str
) -> None:
    client = McpClient(token, transport=http_transport(new_server.mcp_url))
    admin.page.get_by_role("switch", name="MCP server", exact=True).click()
    expect(admin.page.get_by_role("heading", name="Turn off the MCP server?")).to_be_visible()
    assert client.request("tools/list").status == httpx2.codes.OK
    admin.page.get_by_role("button", name="Turn off").click()
    expect(admin.page.get_by_text("Turned off: MCP server")).to_be_visible()
    assert client.request("tools/list").status == httpx2.codes.FORBIDDEN
    press(admin.page, "MCP server", "Turned on: MCP server")
    assert client.request("tools/list").status == httpx2.codes.OK


@pytest.mark.usefixtures("token")
def test_the_admin_learns_why_a_client_cannot_have_a_tool(admin: Visitor) -> None:
    page = admin.page
    page.get_by_role("link", name="Why can't a token see a tool?").click()
    page.get_by_label("Id of a token").fill("An editor")
    page.get_by_label("Tool", exact=True).fill("hubspot.create_note")
    page.get_by_role("button", name="Check").click()
    page.get_by_role("link", name="An editor for").click()
    expect(page.get_by_role("heading", name="hubspot.create_note: refused")).to_be_visible()
    page.get_by_role("link", name="Turn on hubspot.create_note.").click()
    expect(page.get_by_role("heading", name="Switches of Demo")).to_be_visible()
    page.wait_for_load_state()  # only then has the browser gone to the place on the page
    # Whoever has no mouse goes on where the link leads to.
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.get_by_text("Turned on: hubspot.create_note")).to_be_visible()
    page.wait_for_load_state()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.get_by_text("Turned off: hubspot.create_note")).to_be_visible()


def hire(visitor: Visitor) -> str:
    """Give a colleague every right, on the admin's own pages; returns their address."""
    page, colleague = visitor.page, f"grace-{token_hex(4)}@example.com"
    visitor.open("/admin/workspace/user/add/")
    page.get_by_label("Email").fill(colleague)
    for label in ("Password:", "Password confirmation:"):
        page.get_by_label(label, exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Save", exact=True).click()
    for right in ("May open the admin", "Superuser status"):
        page.get_by_label(right).check()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("was changed successfully")).to_be_visible()
    return colleague


def open_request(visitor: Visitor) -> None:
    """Go from the front of the admin to the request that waits."""
    visitor.open("/admin/")
    visitor.page.locator("#content-main").get_by_role("link", name="Approval requests").click()
    visitor.page.locator("#result_list tbody tr").first.get_by_role("link").first.click()


def approve(page: Page) -> None:
    page.get_by_role("link", name="Approve", exact=True).click()
    page.locator(".submit-row input[type=submit]").click()
    expect(page.get_by_text("Done. Decided by")).to_be_visible()


def test_what_an_admin_s_own_client_asks_for_a_colleague_approves(
    browser: Browser,
    new_server: Server,
    admin: Visitor,
    client: BackgroundClient,
    vendors: AllVendors,
) -> None:
    connect(admin.page, STRIPE)
    press(admin.page, STRIPE.action, f"Turned on: {STRIPE.tool}")
    client.call(STRIPE.tool, STRIPE.arguments)
    open_request(admin)
    expect(admin.page.get_by_text("no other person in the organization may")).to_be_visible()
    expect(admin.page.get_by_role("link", name="Approve", exact=True)).to_have_count(0)

    address = hire(admin)
    with chromium.visiting(browser, new_server.url) as colleague:
        open_request(colleague.open_and_sign_in(address, PASSWORD))
        approve(colleague.page)
        assert colleague.problems == []
    (refund,) = vendors.stripe.made
    assert refund["amount"] == 4200
    open_switches(admin)
    press(admin.page, STRIPE.action, f"Turned off: {STRIPE.tool}")
    disconnect(admin.page, STRIPE)


@pytest.mark.parametrize("form", FORMS)
def test_no_card_cuts_a_field_off_on_a_phone(admin: Visitor, form: str) -> None:
    admin.page.set_viewport_size({"width": 390, "height": 844})
    admin.open(FORMS[form])
    assert admin.page.evaluate(CUT_OFF) == []
    admin.page.set_viewport_size({"width": 1280, "height": 900})
