"""An admin connects an integration, sees it fail and ends it, in a real browser."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import accessibility, chromium
from tests.browser.chromium import Visitor
from tests.drivers.fake_vendors import site
from tests.drivers.fake_vendors.site import Site
from tests.drivers.fixture_server import Laboratory
from tests.drivers.servers import vendor_port

pytestmark = [pytest.mark.browser, pytest.mark.process]

HELLO = site.saying({"desk": "of Acme"})


@dataclass
class Workplace:
    """The vendor, the server, its admin, and where the page is."""

    vendor: Site
    url: str
    email: str
    path: str


@pytest.fixture(scope="module")
def workplace(laboratory: Laboratory) -> Iterator[Workplace]:
    account = laboratory.with_account().account
    path = f"/admin/tools_registry/integrationmode/{account.organization}/desk/connect/"
    with site.serving(Site(HELLO, port=vendor_port(laboratory.env, "desk"))) as vendor:
        yield Workplace(vendor, laboratory.server.url, account.email, path)


@pytest.fixture
def admin(browser: Browser, workplace: Workplace) -> Iterator[Visitor]:
    with chromium.visiting(browser, workplace.url) as visitor:
        yield visitor.open_and_sign_in(workplace.email)
        assert visitor.problems == []


def look(visitor: Visitor) -> None:
    assert accessibility.findings(visitor, accessibility.OF_WEIGHT) == []


def test_an_admin_connects_sees_it_fail_and_ends_it(admin: Visitor, workplace: Workplace) -> None:
    admin.open(workplace.path)
    look(admin)
    admin.page.get_by_label("API key").fill("a-key-of-the-desk")
    admin.page.get_by_role("button", name="Save and check").click()
    expect(admin.page.get_by_text("Correct the errors below.")).to_be_visible()
    look(admin)
    admin.page.get_by_label("API key").fill("a-key-of-the-desk")
    admin.page.get_by_label("Queue").fill("billing")
    admin.page.get_by_role("button", name="Save and check").click()
    expect(admin.page.get_by_text("Help desk is connected: the desk of Acme.")).to_be_visible()
    look(admin)
    admin.page.get_by_role("link", name="Back", exact=True).click()
    expect(admin.page.get_by_label("API key")).to_have_value("")
    expect(admin.page.get_by_label("Queue")).to_have_value("billing")
    workplace.vendor.script(site.saying({}, 401))
    admin.page.get_by_role("button", name="Check connection").click()
    expect(admin.page.get_by_text("Could not connect to Help desk")).to_be_visible()
    admin.page.get_by_role("link", name="Back", exact=True).click()
    expect(admin.page.get_by_text("Failing")).to_be_visible()
    look(admin)
    admin.page.get_by_role("button", name="Disconnect").click()
    expect(admin.page.get_by_text("The credential was deleted.")).to_be_visible()
