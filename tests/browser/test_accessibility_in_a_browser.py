"""Every page under axe-core: on a desktop and a phone, by day and by night.

A new page is a line in one of the lists below, or in `addresses`.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from secrets import token_hex

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import accessibility, addresses, chromium
from tests.browser.chromium import Visitor
from tests.drivers import admin_pages
from tests.drivers.person import Person
from tests.drivers.server import EMAIL, PASSWORD, ROOT, Server
from tests.end_to_end.bare_client import BareClient

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.once]

PAGES_OF_DOCS = sorted(page.stem for page in (ROOT / "docs").glob("[a-z]*.md"))
FOR_ANYONE = [
    *addresses.FOR_ANYONE,
    "/docs/?q=zzzzzz",
    *(f"/docs/{name}" for name in PAGES_OF_DOCS),
]
# Of a person in two organizations who has connected two clients.
FOR_A_MEMBER = [
    "/",
    "{consent}",
    "/ask",
    "/connections",
    "/connections/{connection}",
    "/connections/{connection}/revoke",
    "/connections/revoke",
    "/account/security",
    "/account/security/password",
    "/signin/confirm",
    "/signout",
    "/admin/",
]
FOR_A_NEWCOMER = ["/ask", "/connections", "{consent}"]
FOR_AN_ADMIN = [
    *addresses.FOR_AN_ADMIN,
    "{consent}",
    "/admin/audit/actionexecution/?outcome=success",
    "/admin/oauth/client/add/",
    "/admin/oauth/refreshtoken/",
    "/admin/workspace/organization/add/",
]


@dataclass
class Visitors:
    """The four who look at pages: a browser for each, and what the paths above leave open."""

    visitors: dict[str, Visitor]
    client: BareClient

    def show(self, who: str, path: str) -> Visitor:
        """Open a page in the browser of one of them."""
        visitor = self.visitors[who]
        connection = self._connection() if "{connection}" in path else ""
        visitor.open(path.format(consent=self.client.authorize_url, connection=connection))
        return visitor

    def _connection(self) -> str:
        page = self.show("member", "/connections").page
        link = page.get_by_role("link", name="Change").last.get_attribute("href")
        assert link is not None
        return link.split("/")[-1]


@pytest.fixture(scope="module")
def visitors(browser: Browser, server: Server) -> Iterator[Visitors]:
    member, newcomer = (f"{name}-{token_hex(4)}@example.com" for name in ("member", "newcomer"))
    with admin_pages.opened(server) as admins:
        admins.hire(email=member, organizations=2)
        admins.hire(email=newcomer, organizations=0)
    for name in ("Client" * 12, "Second"):
        connect(BareClient(server, name), Person(email=member, password=admin_pages.PASSWORD))
    people = {
        "admin": (EMAIL, PASSWORD),
        "member": (member, admin_pages.PASSWORD),
        "newcomer": (newcomer, admin_pages.PASSWORD),
    }
    with ExitStack() as stack:
        visitors = {
            who: stack.enter_context(chromium.visiting(browser, server.url, bypass_csp=True))
            for who in (*people, "anyone")
        }
        for who, (email, password) in people.items():
            visitors[who].signed_in(email, password)
        yield Visitors(
            visitors, BareClient(server, scope="docs:read setup:read data:read actions:*")
        )


def connect(client: BareClient, person: Person) -> None:
    """Approve the client and let it make a call."""
    headers = {"Authorization": f"Bearer {client.connect(person)}"}
    call = {"name": "search_docs", "arguments": {"query": "scopes"}}
    sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    reply = httpx2.post(client.server.mcp_url, json=sent, headers=headers, timeout=60)
    assert reply.status_code == 200


@pytest.mark.parametrize("path", FOR_ANYONE)
def test_a_page_for_anyone(visitors: Visitors, path: str) -> None:
    assert accessibility.findings(visitors.show("anyone", path).page) == []


@pytest.mark.parametrize("path", FOR_A_MEMBER)
def test_a_page_for_a_member(visitors: Visitors, path: str) -> None:
    assert accessibility.findings(visitors.show("member", path).page) == []


@pytest.mark.parametrize("path", FOR_A_NEWCOMER)
def test_a_page_for_a_newcomer(visitors: Visitors, path: str) -> None:
    assert accessibility.findings(visitors.show("newcomer", path).page) == []


@pytest.mark.parametrize("path", FOR_AN_ADMIN)
def test_a_page_for_an_admin(visitors: Visitors, path: str) -> None:
    page = visitors.show("admin", path).page

    assert accessibility.findings(page, accessibility.OF_WEIGHT) == []


def unticked(visitors: Visitors) -> Page:
    page = visitors.show("member", "{consent}").page
    for box in page.get_by_role("checkbox").all():
        box.uncheck()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("alert")).to_contain_text("Select at least one permission")
    return page


def narrowed_to_nothing(visitors: Visitors) -> Page:
    page = visitors.show("member", "/connections/{connection}").page
    for box in page.get_by_role("checkbox").all():
        box.uncheck()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_be_visible()
    return page


def unknown_to_sign_in(visitors: Visitors) -> Page:
    visitor = visitors.show("anyone", "/signin")
    visitor.sign_in("nobody@example.com", "wrong")
    expect(visitor.page.get_by_role("alert")).to_be_visible()
    return visitor.page


def stale_form(visitors: Visitors) -> Page:
    visitor = visitors.show("anyone", "/signin")
    visitor.page.context.clear_cookies()
    visitor.sign_in()
    expect(visitor.page).to_have_title(re.compile("Form expired"))
    return visitor.page


def form_sent_astray(visitors: Visitors) -> Page:
    visitor = visitors.visitors["anyone"]
    visitor.send_astray()
    return visitor.page


def one_call(visitors: Visitors) -> Page:
    page = visitors.show("admin", "/admin/audit/actionexecution/").page
    page.locator("#result_list tbody a").first.click()
    expect(page.locator(".halo-headline")).to_be_visible()
    return page


def one_person(visitors: Visitors) -> Page:
    page = visitors.show("admin", f"/admin/workspace/user/?q={EMAIL}").page
    page.get_by_role("link", name=EMAIL, exact=True).last.click()
    expect(page.get_by_role("link", name="Delete")).to_be_visible()
    return page


def one_organization(visitors: Visitors) -> Page:
    page = visitors.show("admin", "/admin/workspace/organization/?q=demo").page
    page.locator("#result_list tbody a").first.click()
    expect(page.get_by_role("link", name="Delete")).to_be_visible()
    return page


FOR_PEOPLE = [unticked, narrowed_to_nothing, unknown_to_sign_in, stale_form, form_sent_astray]
# Markup of Django's own: fields in the rows of a table, and the signs next to its list of groups.
OF_DJANGO = re.compile(r"(?:label: #id_|select-name: #id_|aria-prohibited-attr: label\[for)")


@pytest.mark.parametrize("arrive", [one_call, one_person, one_organization])
def test_a_page_that_an_admin_comes_to(
    visitors: Visitors, arrive: Callable[[Visitors], Page]
) -> None:
    found = accessibility.findings(arrive(visitors), accessibility.OF_WEIGHT)

    assert [finding for finding in found if not OF_DJANGO.search(finding)] == []


@pytest.mark.parametrize("arrive", FOR_PEOPLE)
def test_a_page_that_one_comes_to(visitors: Visitors, arrive: Callable[[Visitors], Page]) -> None:
    assert accessibility.findings(arrive(visitors)) == []
