"""A person of two organizations looks at both before approving, in a real browser."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import chromium
from tests.browser.callback import Callback
from tests.browser.chromium import Visitor
from tests.drivers.server import Server, running
from tests.end_to_end.bare_client import BareClient

pytestmark = [pytest.mark.browser, pytest.mark.process]

QUIET = "Quiet"


# A server of its own: on the one that tests share, nobody else expects a second organization.
@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("switching")) as server:
        yield server


@pytest.fixture
def member_of_two(browser: Browser, server: Server) -> Iterator[Visitor]:
    with chromium.visiting(browser, server.url, viewport=chromium.PHONE) as visitor:
        visitor.signed_in()
        found_a_quiet_one(visitor)
        yield visitor
        assert visitor.problems == []


def found_a_quiet_one(visitor: Visitor) -> None:
    """An organization in which no scope unlocks anything, made in the admin."""
    visitor.open("/admin/workspace/user/")
    person = visitor.page.locator("th.field-email a").first.get_attribute("href") or ""
    visitor.open("/admin/workspace/organization/add/")
    sent = {
        "csrfmiddlewaretoken": visitor.page.locator(
            "[name=csrfmiddlewaretoken]"
        ).last.input_value(),
        "name": QUIET,
        "slug": QUIET.lower(),
        "flags-TOTAL_FORMS": "1",
        "flags-INITIAL_FORMS": "0",
        "flags-0-name": "mcp_server",
        "agents-TOTAL_FORMS": "0",
        "agents-INITIAL_FORMS": "0",
        "memberships-TOTAL_FORMS": "1",
        "memberships-INITIAL_FORMS": "0",
        "memberships-0-user": person.split("/")[-3],
        "memberships-0-role": "member",
    }
    visitor.page.request.post(visitor.page.url, form=sent)
    visitor.open("/admin/workspace/organization/")
    expect(visitor.page.get_by_role("link", name=QUIET, exact=True)).to_be_visible()


def test_switching_shows_the_tools_there_and_keeps_what_was_unticked(
    member_of_two: Visitor, server: Server, program: Callback
) -> None:
    page = member_of_two.page
    client = BareClient(server, redirect_uri=program.url, scope="docs:read setup:read")
    member_of_two.open(client.authorize_url)
    page.get_by_text("Show all 2 tools").first.click()
    expect(page.get_by_text("search_docs", exact=True)).to_be_visible()

    page.get_by_role("checkbox", name="setup:read").uncheck()
    page.get_by_role("radio", name=QUIET).check()
    page.get_by_role("button", name="Show its tools").click()

    expect(page.get_by_role("status")).to_have_text(f"The tools shown are now those of {QUIET}.")
    assert page.evaluate("location.hash") == "#organization"
    page.wait_for_load_state()  # only then has the browser gone to the place on the page
    assert page.evaluate("scrollY") > 0
    expect(page.get_by_role("radio", name=QUIET)).to_be_in_viewport()
    expect(page.get_by_text("No tools available yet")).to_have_count(2)
    expect(page.get_by_role("radio", name=QUIET)).to_be_checked()
    expect(page.get_by_role("checkbox", name="docs:read")).to_be_checked()
    expect(page.get_by_role("checkbox", name="setup:read")).not_to_be_checked()

    page.get_by_role("button", name="Approve").click()

    assert client.redeem(program.arrival())["scope"] == "docs:read"
    member_of_two.open("/connections")
    expect(page.locator("dl.facts").first).to_contain_text(QUIET)
