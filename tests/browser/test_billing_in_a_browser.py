"""An admin reads what a client asked for and has it done, in a real browser and a real server."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from foundation.admin_urls import page_url
from tests.browser import accessibility, chromium
from tests.drivers.evaluation import evaluate
from tests.drivers.fake_vendors.stripe import Stripe, serving
from tests.drivers.mcp import PATH, McpClient, http_transport
from tests.drivers.server import PASSWORD, Server
from tests.drivers.servers import vendor_port

pytestmark = [pytest.mark.browser, pytest.mark.process]

# A person in an organization that is connected to Stripe, and a colleague, who signs in; prints a
# token of the one, and the address of the other.
CONNECTED = """
from tests.drivers import billing, grants
from workspace import organizations
from workspace.models import Role, User
grant = grants.make_grant("actions:*", client_name="An editor")
billing.connect(grant)
admin = User.objects.create_user("admin-of-" + grant.user.email, {password!r})
organizations.join(grant.organization, admin, role=Role.ADMIN)
print(grant.token(), admin.email)
"""


@dataclass(frozen=True)
class BillingOffice:
    """An organization's client, the address of its admin, and the vendor."""

    client: McpClient
    admin: str
    stripe: Stripe


@pytest.fixture(scope="module")
def office(server: Server) -> Iterator[BillingOffice]:
    with serving(vendor_port(server.env, "stripe")) as (stripe, _url):
        token, admin = evaluate(server.env, CONNECTED.format(password=PASSWORD)).split()
        client = McpClient(token).with_transport(http_transport(f"{server.url}{PATH}"))
        yield BillingOffice(client, admin, stripe)


def ask(office: BillingOffice, amount: int) -> str:
    asked = {
        "payment": office.stripe.charge(amount),
        "reason": "requested_by_customer",
        "why": "The customer was billed twice for March, see ticket 4711.",
    }
    request_id: str = office.client.call("stripe.request_refund", asked).facts["request_id"]
    return page_url("approvals_approvalrequest_change", request_id)


def test_an_admin_approves_a_refund(
    browser: Browser, server: Server, office: BillingOffice, pictures: Path
) -> None:
    path = ask(office, 4200)
    with chromium.visiting(browser, server.url) as visitor:
        visitor.open_and_sign_in(office.admin)
        page = visitor.page
        visitor.open("/admin/approvals/approvalrequest/")
        page.screenshot(path=pictures / "billing-list.png", full_page=True)
        visitor.open(path)
        page.screenshot(path=pictures / "billing-request.png", full_page=True)
        page.get_by_role("link", name="Approve", exact=True).click()
        expect(page.get_by_text('"amount": 4200')).to_be_visible()
        page.screenshot(path=pictures / "billing-approve.png", full_page=True)
        page.locator(".submit-row input[type=submit]").click()
        expect(page.get_by_text("Done. Decided by")).to_be_visible()
        page.screenshot(path=pictures / "billing-done.png", full_page=True)
        assert visitor.problems == []
    (refund,) = office.stripe.made
    assert refund["amount"] == 4200


@pytest.mark.parametrize("word", ["change", "approve", "decline"])
def test_its_pages_can_be_read_by_everybody(
    browser: Browser, server: Server, office: BillingOffice, word: str
) -> None:
    path = ask(office, 1000).replace("/change/", f"/{word}/")
    with chromium.visiting(browser, server.url) as visitor:
        visitor.open_and_sign_in(office.admin).open(path)
        assert accessibility.findings(visitor) == []
        assert visitor.problems == []


def test_the_list_shows_whole_summaries_and_statuses(
    browser: Browser, server: Server, office: BillingOffice
) -> None:
    ask(office, 1000)
    with chromium.visiting(browser, server.url) as visitor:
        visitor.open_and_sign_in(office.admin).open("/admin/approvals/approvalrequest/")
        assert accessibility.findings(visitor) == []
        for size in (chromium.DESKTOP, chromium.PHONE):
            visitor.page.set_viewport_size(size)
            cells = visitor.page.locator("#result_list :is(.field-summary, .field-state)").all()
            assert len(cells) >= 2
            table = visitor.page.locator("#changelist .results")
            for one in (*cells, table):
                assert one.evaluate("one => one.scrollWidth <= one.clientWidth"), size
        assert visitor.problems == []
