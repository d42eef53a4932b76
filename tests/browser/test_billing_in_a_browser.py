"""An admin reads what a client asked for and has it done, in a real browser and a real server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from foundation.admin_urls import page_url
from tests.browser import accessibility, chromium
from tests.drivers.evaluation import evaluate
from tests.drivers.fake_vendors.stripe import Stripe, serving
from tests.drivers.mcp import PATH, McpClient, over_http
from tests.drivers.server import Server, running

pytestmark = [pytest.mark.browser, pytest.mark.process]

# A person in an organization that is connected to Stripe; prints a token of theirs.
CONNECTED = """
from tests.drivers import billing, grants
grant = grants.granted("actions:*", client_name="An editor")
billing.connect(grant)
print(grant.token())
"""


@pytest.fixture(scope="module")
def stripe() -> Iterator[tuple[Stripe, str]]:
    with serving() as fake:
        yield fake


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, stripe: tuple[Stripe, str]
) -> Iterator[Server]:
    given = {"HALO_VENDOR_URLS": f"stripe={stripe[1]}"}
    with running(tmp_path_factory.mktemp("billing"), given) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Server) -> McpClient:
    token = evaluate(server.env, CONNECTED).strip()
    return McpClient(token).through(over_http(f"{server.url}{PATH}"))


def ask(client: McpClient, stripe: Stripe, amount: int) -> str:
    asked = {
        "payment": stripe.charge(amount),
        "reason": "requested_by_customer",
        "why": "The customer was billed twice for March, see ticket 4711.",
    }
    request_id: str = client.call("stripe.request_refund", asked).facts["request_id"]
    return page_url("approvals_approvalrequest_change", request_id)


def test_an_admin_approves_a_refund(
    browser: Browser,
    server: Server,
    client: McpClient,
    stripe: tuple[Stripe, str],
    pictures: Path,
) -> None:
    path = ask(client, stripe[0], 4200)
    with chromium.visiting(browser, server.url) as visitor:
        visitor.signed_in()
        page = visitor.page
        visitor.open("/admin/approvals/approvalrequest/")
        page.screenshot(path=pictures / "billing-list.png", full_page=True)
        visitor.open(path)
        page.screenshot(path=pictures / "billing-request.png", full_page=True)
        page.get_by_role("link", name="Approve", exact=True).click()
        expect(page.get_by_text('"amount": 4200')).to_be_visible()
        page.screenshot(path=pictures / "billing-approve.png", full_page=True)
        page.locator(".submit-row input[type=submit]").click()
        expect(page.get_by_text("Done.", exact=True)).to_be_visible()
        page.screenshot(path=pictures / "billing-done.png", full_page=True)
        assert visitor.problems == []
    (refund,) = stripe[0].made
    assert refund["amount"] == 4200


@pytest.mark.parametrize("word", ["change", "approve", "decline"])
def test_its_pages_can_be_read_by_everybody(
    browser: Browser, server: Server, client: McpClient, stripe: tuple[Stripe, str], word: str
) -> None:
    path = ask(client, stripe[0], 1000).replace("/change/", f"/{word}/")
    with chromium.visiting(browser, server.url) as visitor:
        visitor.signed_in().open(path)
        assert accessibility.findings(visitor) == []
        assert visitor.problems == []


def test_the_list_shows_whole_summaries_and_statuses(
    browser: Browser, server: Server, client: McpClient, stripe: tuple[Stripe, str]
) -> None:
    ask(client, stripe[0], 1000)
    with chromium.visiting(browser, server.url) as visitor:
        visitor.signed_in().open("/admin/approvals/approvalrequest/")
        assert accessibility.findings(visitor) == []
        for size in (chromium.DESKTOP, chromium.PHONE):
            visitor.page.set_viewport_size(size)
            cells = visitor.page.locator("#result_list :is(.field-summary, .field-state)").all()
            assert len(cells) >= 2
            table = visitor.page.locator("#changelist .results")
            for one in (*cells, table):
                assert one.evaluate("one => one.scrollWidth <= one.clientWidth"), size
        assert visitor.problems == []
