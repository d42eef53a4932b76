"""An admin turns switches in a real browser, and a client's list of tools follows."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import accessibility, chromium
from tests.browser.chromium import Visitor
from tests.drivers import switches_page
from tests.drivers.fixture_server import Laboratory
from tests.drivers.mcp import McpClient, http_transport

pytestmark = [pytest.mark.browser, pytest.mark.process]

CAST = """
from tools_registry.models import IntegrationMode
from workspace.models import AgentKind, Organization
place = Organization.objects.get(pk={organization!r})
place.agents.create(kind=AgentKind.INTERNAL, name="Night shift")
IntegrationMode.objects.create(organization=place, integration="crm", connection="connected")
IntegrationMode.objects.create(
    organization=place, integration="counter", connection="failing",
    last_error="The vendor refused the organization's credential.",
)
"""
# 44 CSS pixels are what WCAG 2.2 asks in 2.5.5.
TOO_SMALL = """
    [...document.querySelectorAll('#content-main :is(button, .button, input:not([type=hidden]))')]
        .filter(one => one.checkVisibility() && one.getBoundingClientRect().height < 44)
        .map(one => one.outerHTML)
"""
FIND, MODE = "Find a contact", "Actions mode of CRM"


@pytest.fixture(scope="module")
def lab_server(laboratory: Laboratory) -> Laboratory:
    own = laboratory.with_account()
    own.evaluate(CAST.format(organization=own.account.organization))
    return own


@pytest.fixture(scope="module")
def path(lab_server: Laboratory) -> str:
    return switches_page.path_of(lab_server.account.organization)


@pytest.fixture
def page_without_scripts(browser: Browser, lab_server: Laboratory) -> Iterator[Page]:
    url = lab_server.server.url
    with chromium.visiting(browser, url, java_script_enabled=False) as visitor:
        yield visitor.open_and_sign_in(lab_server.account.email).page


def switch(page: Page, name: str) -> str | None:
    return page.get_by_role("switch", name=name, exact=True).get_attribute("aria-checked")


def press(page: Page, name: str, then: str) -> None:
    page.get_by_role("switch", name=name, exact=True).click()
    expect(page.get_by_text(then)).to_be_visible()


def test_the_first_page_of_the_admin_uses_the_whole_width(
    page_without_scripts: Page, lab_server: Laboratory
) -> None:
    page_without_scripts.goto(f"{lab_server.server.url}/admin/")
    modules = page_without_scripts.locator("#content-main > .module")
    boxes = [box for box in (one.bounding_box() for one in modules.all()) if box]
    assert len({box["x"] for box in boxes}) > 1, "the lists are in one column"
    # At 1280 px; the text column of Django ends at 640.
    assert max(box["x"] + box["width"] for box in boxes) > 1_200
    for width in (390, 2200):
        page_without_scripts.set_viewport_size({"width": width, "height": 900})
        assert not page_without_scripts.evaluate(
            "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        )


def test_a_client_s_list_follows_every_click(
    page_without_scripts: Page, lab_server: Laboratory
) -> None:
    client = McpClient(lab_server.token, transport=http_transport(lab_server.server.mcp_url))
    page = page_without_scripts
    page.goto(f"{lab_server.server.url}/admin/")
    page.get_by_role("link", name="Integrations and their switches").click()
    expect(page.get_by_role("heading", name="Switches of")).to_be_visible()
    assert "crm.find_contact" not in client.tool_names()
    press(page, FIND, "Turned on: crm.find_contact")
    assert "crm.find_contact" in client.tool_names()
    press(page, MODE, "Turned off: Actions mode of CRM")
    assert "crm.find_contact" not in client.tool_names()
    assert switch(page, FIND) == "true"
    press(page, MODE, "Turned on: Actions mode of CRM")
    page.get_by_role("searchbox", name="Search the actions").fill("crm")
    page.get_by_role("button", name="Search", exact=True).click()
    page.get_by_role("button", name="Turn off all shown actions", exact=True).click()
    # One, or two where another test has left its own on: two are confirmed first.
    confirm = page.get_by_role("button", name=re.compile(r"^Turn off \d actions$"))
    done = page.get_by_text(re.compile(r"Turned off \d actions?\."))
    expect(confirm.or_(done)).to_be_visible()
    if confirm.is_visible():
        confirm.click()
    expect(done).to_be_visible()
    assert "crm.find_contact" not in client.tool_names()


def test_a_refused_call_leads_to_the_switch_that_opens_it(
    page_without_scripts: Page, lab_server: Laboratory
) -> None:
    client = McpClient(lab_server.token, transport=http_transport(lab_server.server.mcp_url))
    assert client.call("crm.create_deal").error["data"]["reason"] == "agent_disabled"
    page = page_without_scripts
    page.goto(f"{lab_server.server.url}/admin/audit/actionexecution/")
    page.locator("#result_list tbody a").first.click()
    page.get_by_role("link", name="Why?").click()
    expect(page.get_by_text("calls are refused: agent_disabled.")).to_be_visible()
    page.get_by_role("link", name="Turn on crm.create_deal.").click()
    # HubSpot has an action of that name too.
    page.locator(":target").get_by_role("switch").click()
    expect(page.get_by_text("Turned on: crm.create_deal")).to_be_visible()
    assert client.call("crm.create_deal").facts == {"deal": "d1"}


def look(visitor: Visitor) -> None:
    assert accessibility.findings(visitor, accessibility.OF_WEIGHT) == []
    for size in (chromium.PHONE, chromium.DESKTOP):
        visitor.page.set_viewport_size(size)
        assert visitor.page.evaluate(TOO_SMALL) == [], size


def test_the_pages_are_fit_to_be_seen(browser: Browser, lab_server: Laboratory, path: str) -> None:
    client = McpClient(lab_server.token, transport=http_transport(lab_server.server.mcp_url))
    client.call("counter.stand_by", {"file": ""})
    with chromium.visiting(browser, lab_server.server.url) as visitor:
        visitor.open_and_sign_in(lab_server.account.email)
        for address in (path, f"{path}?q=contact", f"{switches_page.WHY}?token=person", "/admin/"):
            visitor.open(address)
            look(visitor)
        visitor.open("/admin/audit/actionexecution/")
        visitor.page.locator("#result_list tbody a").first.click()
        visitor.page.get_by_role("link", name="Why?").click()
        look(visitor)
        assert visitor.problems == []
