"""A person of two organizations looks at both before approving, in a real browser."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import chromium
from tests.browser.callback import Callback
from tests.browser.chromium import Visitor
from tests.drivers.accounts import open_account
from tests.drivers.evaluation import evaluate
from tests.drivers.server import Server
from tests.end_to_end.bare_client import BareClient

pytestmark = [pytest.mark.browser, pytest.mark.process]

QUIET = "Quiet"


# Another organization of the same person, in which no scope unlocks anything.
JOIN = """
from workspace import organizations
from workspace.models import FeatureFlag, Organization, User
quiet = organizations.establish(Organization(name={name!r}, slug="quiet-{organization}"))
FeatureFlag.objects.create(organization=quiet, name="mcp_server", enabled=False)
organizations.join(quiet, User.objects.get(email={email!r}))
"""


@pytest.fixture
def member_of_two(browser: Browser, server: Server) -> Iterator[Visitor]:
    account = open_account(server.env)
    evaluate(
        server.env, JOIN.format(name=QUIET, organization=account.organization, email=account.email)
    )
    with chromium.visiting(browser, server.url, viewport=chromium.PHONE) as visitor:
        yield visitor.open_and_sign_in(account.email)
        assert visitor.problems == []


def test_switching_shows_the_tools_there_and_keeps_what_was_unticked(
    member_of_two: Visitor, server: Server, program: Callback
) -> None:
    page = member_of_two.page
    client = BareClient(server, redirect_uri=program.url, scope="docs:read setup:read")
    member_of_two.open(client.authorize_url)
    page.get_by_text("Show all 2 tools").first.click()
    expect(page.get_by_text("search_docs", exact=True).first).to_be_visible()

    page.get_by_role("checkbox", name="setup:read").uncheck()
    page.get_by_role("radio", name=QUIET).check()
    page.get_by_role("button", name="Show its tools").click()

    expect(page.get_by_role("status")).to_have_text(f"The tools shown are now those of {QUIET}.")
    assert page.evaluate("location.hash") == "#organization"
    page.wait_for_load_state()  # only then has the browser gone to the place on the page
    assert page.evaluate("scrollY") > 0
    expect(page.get_by_role("radio", name=QUIET)).to_be_in_viewport()
    expect(page.get_by_text("No tools available yet")).to_have_count(3)
    expect(page.get_by_role("radio", name=QUIET)).to_be_checked()
    expect(page.get_by_role("checkbox", name="docs:read")).to_be_checked()
    expect(page.get_by_role("checkbox", name="setup:read")).not_to_be_checked()

    page.get_by_role("button", name="Approve").click()

    assert client.redeem(program.arrival())["scope"] == "docs:read"
    member_of_two.open("/connections")
    expect(page.locator("dl.facts").first).to_contain_text(QUIET)
