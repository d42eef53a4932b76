"""An outage of the database in a browser: each page says so, and works afterwards."""

import os
import re
from collections.abc import Iterator

import httpx2
import pytest
from django.conf import settings
from playwright.sync_api import Browser, Page, expect

from tests.browser import chromium
from tests.browser.chromium import Visitor
from tests.drivers.accounts import open_account
from tests.drivers.server import PASSWORD
from tests.faults.proxy import Fault
from tests.faults.test_outcomes import DatabaseProxyDeployment, start_deployment
from tests.tools_registry.test_asgi_process import wait_until

pytestmark = [
    pytest.mark.browser,
    pytest.mark.process,
    pytest.mark.skipif(
        not os.environ.get("DATABASE_URL", "").startswith("postgres"),
        reason="connections to PostgreSQL break",
    ),
]

UNAVAILABLE = "This page is temporarily unavailable"


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DatabaseProxyDeployment]:
    with start_deployment(tmp_path_factory.mktemp("outage")) as deployment:
        yield deployment


@pytest.fixture
def visitor(browser: Browser, deployment: DatabaseProxyDeployment) -> Iterator[Visitor]:
    with chromium.visiting(browser, deployment.server.url) as visitor:
        yield visitor
        assert visitor.problems == []


def expect_outage(page: Page) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(UNAVAILABLE)


def is_back(deployment: DatabaseProxyDeployment) -> bool:
    """Whether the session of a page is looked up again."""
    cookies = {settings.SESSION_COOKIE_NAME: "a" * 32}
    return httpx2.get(f"{deployment.server.url}/connections", cookies=cookies).status_code != 503


def test_a_page_offers_to_try_again_until_the_database_is_back(
    visitor: Visitor, deployment: DatabaseProxyDeployment
) -> None:
    page = visitor.page
    visitor.open_and_sign_in(open_account(deployment.env).email)
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    try_again = page.get_by_role("link", name="Try again")
    with deployment.database.fault(Fault.CUT):
        visitor.open("/connections")
        expect_outage(page)
        try_again.click()
        expect_outage(page)
    page.add_locator_handler(try_again, lambda link: link.click())
    expect(page.get_by_role("heading", level=1)).to_have_text("Connections")
    expect(page).to_have_url(re.compile("/connections$"))


def test_a_form_that_was_sent_during_an_outage_can_be_sent_again(
    visitor: Visitor, deployment: DatabaseProxyDeployment
) -> None:
    page = visitor.page
    email = open_account(deployment.env).email
    visitor.open("/signin")
    with deployment.database.fault(Fault.CUT):
        visitor.sign_in(email)
        expect_outage(page)
        expect(page.get_by_text("Nothing was saved")).to_be_visible()
        expect(page.get_by_role("link", name="Try again")).to_have_count(0)
    wait_until(lambda: is_back(deployment))
    page.go_back()
    expect(page.get_by_label("Email")).to_have_value(email)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
