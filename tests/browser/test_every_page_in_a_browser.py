"""Every page in a real browser: under axe-core, on a phone, at night, and within its own policy.

A new page is a line in one of the lists below, or in `addresses`.
"""

import re
import statistics
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from secrets import token_hex

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import accessibility, addresses, chromium, contrast
from tests.browser.accessibility import OF_ANY_WEIGHT, OF_WEIGHT
from tests.browser.chromium import Visitor
from tests.drivers import admin_pages
from tests.drivers.evaluation import evaluate
from tests.drivers.person import Person
from tests.drivers.server import EMAIL, PASSWORD, ROOT, Server
from tests.end_to_end.bare_client import BareClient

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.once]

CUSTOMER = """
from foundation.admin_urls import row_url
from workspace.models import Customer, Organization
email = "a.customer.with.a.long.address@quill.example"
row = Customer(organization=Organization.objects.first(), email=email, name="Zoe Quill")
row.save()
print(row_url(row))
"""
# Of an organization of the admin: other tests on the same server have made others.
PROJECT = """
from secrets import token_hex
from gateway.models import PolicyRule, Project, ProjectTool
from workspace.models import Organization
project = Project.objects.create(
    organization=Organization.objects.filter(memberships__user__email="OWNER").first(),
    name=f"Quill {token_hex(4)}",
    target_url="https://api.quill.example",
)
for name in ("list_orders", "delete_orders_of_a_customer_with_a_name_of_great_length"):
    ProjectTool.objects.create(
        project=project, name=name, key=f"GET /{name}", fingerprint="",
        operation={"tags": ["A tag with a name of great length " * 2]},
        is_enabled=True, is_read=name.startswith("list"),
    )
PolicyRule.objects.create(
    project=project, position=0, pattern="delete_*", effect="deny",
    conditions=[{"pointer": "/customer/address/city", "operator": "==", "value": "x" * 200}],
)
print(project.pk)
""".replace("OWNER", EMAIL)
CALLS = "/admin/audit/actionexecution/"
LONG_NAME = f"A client with {'a name of great length and ' * 6}more"[:180]
PAGES_OF_DOCS = sorted(page.stem for page in (ROOT / "docs").glob("[a-z]*.md"))
FOR_ANYONE = [*addresses.FOR_ANYONE, "/docs/?q=zzzzzz", f"/docs/{PAGES_OF_DOCS[0]}"]
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
    "/",
    "/ask",
    "/connections",
    "{consent}",
    f"{CALLS}?outcome=success",
    "/admin/mfa/authenticator/",
    "/admin/oauth/client/add/",
    "/admin/oauth/refreshtoken/",
    "/admin/workspace/organization/add/",
]


@dataclass
class Visitors:
    """The four who look at pages: a browser for each, and what the paths above leave open."""

    server: Server
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
def all_visitors(browser: Browser, server: Server) -> Iterator[Visitors]:
    member, newcomer = (f"{name}-{token_hex(4)}@example.com" for name in ("member", "newcomer"))
    with admin_pages.open_admin_pages(server) as admins:
        admins.hire(email=member, organizations=2)
        admins.hire(email=newcomer, organizations=0)
    for name in (LONG_NAME, "Second"):
        connect(BareClient(server, name), Person(email=member, password=admin_pages.PASSWORD))
    connect(BareClient(server, LONG_NAME), Person())
    people = {
        "admin": (EMAIL, PASSWORD),
        "member": (member, admin_pages.PASSWORD),
        "newcomer": (newcomer, admin_pages.PASSWORD),
    }
    with ExitStack() as stack:
        visitors = {
            who: stack.enter_context(chromium.visiting(browser, server.url))
            for who in (*people, "anyone")
        }
        for who, (email, password) in people.items():
            visitors[who].open_and_sign_in(email, password)
        # It requests nothing that changes data, so its page offers that as well.
        client = BareClient(server, LONG_NAME)
        yield Visitors(server, visitors, client)


@pytest.fixture
def visitors(all_visitors: Visitors) -> Iterator[Visitors]:
    """A page may break no policy and report no error."""
    yield all_visitors
    problems = {who: each.problems[:] for who, each in all_visitors.visitors.items()}
    for each in all_visitors.visitors.values():
        each.problems.clear()
    assert not any(problems.values()), problems


def connect(client: BareClient, person: Person) -> None:
    """Approve the client and let it make a call."""
    headers = {"Authorization": f"Bearer {client.connect(person)}"}
    call = {"name": "search_docs", "arguments": {"query": "how do scopes work"}}
    sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    reply = httpx2.post(client.server.mcp_url, json=sent, headers=headers, timeout=60)
    assert reply.status_code == 200


@pytest.mark.parametrize("path", FOR_ANYONE)
def test_a_page_for_anyone(visitors: Visitors, path: str) -> None:
    assert accessibility.findings(visitors.show("anyone", path)) == []


@pytest.mark.parametrize("name", PAGES_OF_DOCS[1:])
def test_a_page_of_the_documentation(visitors: Visitors, name: str) -> None:
    """They have one template, of which the first is looked at as any page is."""
    visitor = visitors.show("anyone", f"/docs/{name}")
    assert accessibility.findings(visitor, views=[accessibility.ON_A_PHONE]) == []


@pytest.mark.parametrize("path", FOR_A_MEMBER)
def test_a_page_for_a_member(visitors: Visitors, path: str) -> None:
    assert accessibility.findings(visitors.show("member", path)) == []


@pytest.mark.parametrize("path", FOR_A_NEWCOMER)
def test_a_page_for_a_newcomer(visitors: Visitors, path: str) -> None:
    assert accessibility.findings(visitors.show("newcomer", path)) == []


@pytest.mark.parametrize("path", FOR_AN_ADMIN)
def test_a_page_for_an_admin(visitors: Visitors, path: str) -> None:
    weights = OF_WEIGHT if path.startswith("/admin/") else OF_ANY_WEIGHT

    assert accessibility.findings(visitors.show("admin", path), weights) == []


def approve_nothing(visitors: Visitors) -> Visitor:
    visitor = visitors.show("member", "{consent}")
    page = visitor.page
    for box in page.get_by_role("checkbox").all():
        box.uncheck()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("alert")).to_contain_text("Select at least one permission")
    return visitor


def narrowed_to_nothing(visitors: Visitors) -> Visitor:
    visitor = visitors.show("member", "/connections/{connection}")
    page = visitor.page
    for box in page.get_by_role("checkbox").all():
        box.uncheck()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_be_visible()
    return visitor


def unknown_to_sign_in(visitors: Visitors) -> Visitor:
    visitor = visitors.show("anyone", "/signin")
    visitor.sign_in("nobody@example.com", "wrong")
    expect(visitor.page.get_by_role("alert")).to_be_visible()
    return visitor


def stale_form(visitors: Visitors) -> Visitor:
    visitor = visitors.show("anyone", "/signin")
    visitor.page.context.clear_cookies()
    visitor.sign_in()
    expect(visitor.page).to_have_title(re.compile("This form expired"))
    return visitor


def form_sent_astray(visitors: Visitors) -> Visitor:
    visitor = visitors.visitors["anyone"]
    visitor.send_astray()
    return visitor


def one_call(visitors: Visitors) -> Visitor:
    visitor = visitors.show("admin", CALLS)
    page = visitor.page
    page.locator("#result_list tbody a").first.click()
    expect(page.locator(".halo-headline")).to_be_visible()
    return visitor


def one_person(visitors: Visitors) -> Visitor:
    visitor = visitors.show("admin", f"/admin/workspace/user/?q={EMAIL}")
    page = visitor.page
    page.get_by_role("link", name=EMAIL, exact=True).last.click()
    expect(page.get_by_role("link", name="Delete")).to_be_visible()
    return visitor


def one_organization(visitors: Visitors) -> Visitor:
    visitor = visitors.show("admin", "/admin/workspace/organization/?q=demo")
    page = visitor.page
    page.locator("#result_list tbody a").first.click()
    expect(page.get_by_role("link", name="Delete")).to_be_visible()
    return visitor


def one_customer(visitors: Visitors) -> Visitor:
    visitor = visitors.show("admin", evaluate(visitors.server.env, CUSTOMER).strip())
    expect(visitor.page.get_by_role("link", name="Export data")).to_be_visible()
    return visitor


def one_erasure(visitors: Visitors) -> Visitor:
    visitor = one_customer(visitors)
    visitor.page.get_by_role("link", name="Erase").click()
    expect(visitor.page.get_by_role("button", name="Erase")).to_be_visible()
    return visitor


def failed_job(visitors: Visitors) -> Visitor:
    visitor = visitors.show("admin", "/projects/new")
    page = visitor.page
    page.get_by_label("Or its text").fill("no document")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("alert")).to_be_visible()
    return visitor


def policy(visitors: Visitors) -> Visitor:
    return visitors.show("admin", f"/projects/{new_project(visitors)}/policy")


def new_project(visitors: Visitors) -> str:
    return evaluate(visitors.server.env, PROJECT).strip()


def switched_tools(visitors: Visitors) -> Visitor:
    visitor = visitors.show("admin", f"/projects/{new_project(visitors)}")
    visitor.page.get_by_label("Search tools").fill("orders")
    visitor.page.get_by_role("button", name="Turn off").click()
    expect(visitor.page.get_by_text("not saved yet")).to_be_visible()
    return visitor


def opening_of_a_tool(visitors: Visitors) -> Visitor:
    visitor = policy(visitors)
    add_rule(visitor.page, "delete_*", "Allow")
    expect(visitor.page.get_by_role("button", name="Save anyway")).to_be_visible()
    return visitor


def add_rule(page: Page, pattern: str, effect: str) -> None:
    page.get_by_label("Tools", exact=True).fill(pattern)
    page.get_by_label("Effect").select_option(effect)
    page.get_by_role("button", name="Save rule").click()


def stale_policy(visitors: Visitors) -> Visitor:
    visitor = policy(visitors)
    page = visitor.page
    with other_page(page) as other:
        add_rule(other, "list_*", "Deny")
        expect(other.get_by_text("Saved.")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Nothing was saved")).to_be_visible()
    return visitor


def stale_settings(visitors: Visitors) -> Visitor:
    visitor = visitors.show("admin", f"/projects/{new_project(visitors)}/settings")
    page = visitor.page
    with other_page(page) as other:
        other.get_by_label("Name").fill("A name of great length " * 6)
        other.get_by_role("button", name="Save").click()
        expect(other.get_by_text("Saved.")).to_be_visible()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Nothing was saved")).to_be_visible()
    return visitor


def page_of_an_older_version(visitors: Visitors) -> Visitor:
    visitor = visitors.show("admin", f"/projects/{new_project(visitors)}/settings")
    page = visitor.page
    page.locator("input[name=shown_values]").evaluate("field => field.remove()")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("before an update of the server")).to_be_visible()
    return visitor


def stale_customer(visitors: Visitors) -> Visitor:
    visitor = visitors.show("admin", evaluate(visitors.server.env, CUSTOMER).strip())
    page = visitor.page
    with other_page(page) as other:
        other.get_by_label("Name:", exact=True).fill("Zoe of great length " * 5)
        other.get_by_role("button", name="Save", exact=True).click()
        expect(other.get_by_text("was changed successfully")).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Nothing was saved")).to_be_visible()
    return visitor


@contextmanager
def other_page(page: Page) -> Iterator[Page]:
    """The same page in another tab."""
    other = page.context.new_page()
    other.goto(page.url)
    yield other
    other.close()


FOR_PEOPLE = [
    approve_nothing,
    narrowed_to_nothing,
    unknown_to_sign_in,
    stale_form,
    form_sent_astray,
]
FOR_PEOPLE += [failed_job, policy, opening_of_a_tool, stale_policy, stale_settings]
FOR_PEOPLE += [page_of_an_older_version, switched_tools]
OF_ADMINS = [one_call, one_person, one_organization, one_customer, one_erasure, stale_customer]
# Markup of Django's own: fields in the rows of a table, and the signs next to its list of groups.
OF_DJANGO = re.compile(r"(?:label: #id_|select-name: #id_|aria-prohibited-attr: label\[for)")


@pytest.mark.parametrize("arrive", OF_ADMINS)
def test_a_page_that_an_admin_comes_to(
    visitors: Visitors, arrive: Callable[[Visitors], Visitor]
) -> None:
    found = accessibility.findings(arrive(visitors), OF_WEIGHT)

    assert [finding for finding in found if not OF_DJANGO.search(finding)] == []


@pytest.mark.parametrize("arrive", FOR_PEOPLE)
def test_a_page_that_one_comes_to(
    visitors: Visitors, arrive: Callable[[Visitors], Visitor]
) -> None:
    assert accessibility.findings(arrive(visitors)) == []


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


def test_a_box_stands_next_to_the_first_line_of_its_title(visitors: Visitors) -> None:
    visitors.visitors["admin"].page.set_viewport_size({"width": 320, "height": 640})
    boxes = visitors.show("admin", "{consent}").page.evaluate(BOXES)

    assert any(box["wraps"] for box in boxes)
    assert all(box["offset"] < 4 and box["above"] > 8 for box in boxes), boxes


def test_night_is_dark_and_day_is_light(visitors: Visitors) -> None:
    page = visitors.show("anyone", "/").page
    seen = {}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        grounds = [contrast.luminance(text.behind) for text in contrast.texts_on(page)]
        seen[scheme] = statistics.median(grounds)

    assert seen["dark"] < 0.1
    assert seen["light"] > 0.7


def test_an_admin_filters_the_calls_and_opens_one(visitors: Visitors) -> None:
    visitors.visitors["admin"].page.set_viewport_size(chromium.DESKTOP)
    page = visitors.show("admin", CALLS).page

    page.locator("summary", has_text="Outcome").click()
    page.get_by_role("link", name="Success").click()
    # The newest: a worker that does this file in parts has a client for each, on one server.
    row = page.get_by_role("row").filter(has_text=LONG_NAME).first
    expect(row).to_contain_text("search_docs")
    row.get_by_role("link").first.click()

    expect(page.get_by_text("how do scopes work")).to_be_visible()
    expect(page.get_by_role("button", name="Save")).to_have_count(0)
    expect(page.get_by_role("link", name="Delete")).to_have_count(0)
