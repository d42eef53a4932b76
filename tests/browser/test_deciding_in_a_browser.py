"""An approver decides a request with the keyboard, and another open page of it follows."""

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import accessibility, chromium
from tests.drivers import project_rows
from tests.drivers.accounts import Account, open_account
from tests.drivers.evaluation import evaluate
from tests.drivers.mcp import McpClient, http_transport
from tests.drivers.server import Server

pytestmark = [pytest.mark.browser, pytest.mark.process]

# A project to call, with a member's token for it, and another one: its policy is edited.
PROJECTS = """
from oauth import mcp_tokens
from tests.drivers import project_rows
from tests.drivers.accounts import Account, open_account
from workspace import organizations
from workspace.models import Organization, User
organization = Organization.objects.get(pk={organization!r})
owner = User.objects.get(email={email!r})
member = User.objects.create_user("member-" + owner.email)
organizations.join(organization, member)
row = project_rows.project(organization, owner)
token = mcp_tokens.issue(member, organization, f"/{{row.pk}}", name="Laptop", days=0, address="")
print(row.pk, token.secret, project_rows.project(organization, owner, name="Other").pk)
"""


@pytest.fixture(scope="module")
def account(server: Server) -> Account:
    return open_account(server.env)


@pytest.fixture(scope="module")
def projects(server: Server, account: Account) -> tuple[McpClient, str]:
    """A client of the one project, and the id of the other one."""
    code = PROJECTS.format(organization=account.organization, email=account.email)
    called, token, edited = evaluate(server.env, code).split()
    return McpClient(token).with_transport(http_transport(f"{server.url}/{called}")), edited


def test_a_decision_appears_on_every_open_page_of_the_request(
    browser: Browser, server: Server, account: Account, projects: tuple[McpClient, str]
) -> None:
    tool = project_rows.DELETE_USER.name
    asked = projects[0].call(tool, {"id": "u" * 400}).facts
    path = f"/requests/{asked['requestId']}"
    with chromium.visiting(browser, server.url) as visitor:
        visitor.open_and_sign_in(account.email)
        visitor.open("/requests")
        assert accessibility.findings(visitor) == []
        page = visitor.page
        page.get_by_role("link", name=tool).first.click()
        expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
        assert accessibility.findings(visitor) == []
        second = page.context.new_page()
        second.goto(f"{server.url}{path}")
        second.get_by_label("Reason").focus()
        second.keyboard.type("Not this one.")
        second.keyboard.press("Tab")
        second.keyboard.press("Enter")
        expect(second.get_by_text("Rejected.", exact=True)).to_be_visible()
        expect(page.get_by_text("Not this one.")).to_be_visible()
        expect(page.get_by_role("button", name="Approve")).to_have_count(0)
        assert visitor.problems == []


def test_selected_requests_are_reviewed_and_rejected_together_with_the_keyboard(
    browser: Browser, server: Server, account: Account, projects: tuple[McpClient, str]
) -> None:
    tool = project_rows.DELETE_USER.name
    asked = [projects[0].call(tool, {"id": name}).facts for name in ("Ada" * 80, "Bob")]
    with chromium.visiting(browser, server.url) as visitor:
        visitor.open_and_sign_in(account.email)
        visitor.open("/requests")
        page = visitor.page
        for each in asked:
            box = page.locator(f'[name="request-{each["requestId"]}"]')
            box.focus()
            page.keyboard.press("Space")
            expect(box).to_be_checked()
        page.get_by_role("button", name="Review the selected requests together").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Review requests")).to_be_visible()
        expect(page.locator("details[open]").get_by_text("Ada" * 80)).to_be_visible()
        expect(page.get_by_text("Bob", exact=True)).to_be_visible()
        assert accessibility.findings(visitor) == []
        page.get_by_role("button", name="Reject these 2 requests").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_text("2 rejected.", exact=True)).to_be_visible()
        assert visitor.problems == []


def test_the_list_is_walked_with_keys_that_do_nothing_in_text_fields(
    browser: Browser, server: Server, account: Account, projects: tuple[McpClient, str]
) -> None:
    tool = project_rows.DELETE_USER.name
    for name in ("Cy", "Di", "Ed"):
        projects[0].call(tool, {"id": name})
    with chromium.visiting(browser, server.url) as visitor:
        visitor.open_and_sign_in(account.email)
        visitor.open("/requests")
        page = visitor.page
        links, box = page.locator("a[data-row]"), page.get_by_label("Keyboard: j and k")
        expect(box).to_be_checked()
        page.keyboard.press("j")
        expect(links.nth(0)).to_be_focused()
        page.keyboard.press("j")
        expect(links.nth(1)).to_be_focused()
        page.keyboard.press("Control+j")
        expect(links.nth(1)).to_be_focused()
        # The focus is lost as the refresh of the list loses it.
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("k")
        expect(links.nth(0)).to_be_focused()
        field = page.get_by_label("Tool", exact=True)
        field.focus()
        page.keyboard.type("jk")
        expect(field).to_be_focused()
        expect(field).to_have_value("jk")
        box.click()
        page.reload()
        expect(box).not_to_be_checked()
        page.keyboard.press("j")
        expect(page.locator("a[data-row]:focus")).to_have_count(0)
        box.click()
        page.keyboard.press("j")
        expect(links.nth(0)).to_be_focused()
        assert accessibility.findings(visitor) == []
        path = links.nth(0).get_attribute("href")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**{path}")
        assert visitor.problems == []


def test_a_policy_is_edited_on_a_phone(
    browser: Browser, server: Server, account: Account, projects: tuple[McpClient, str]
) -> None:
    with chromium.visiting(browser, server.url, viewport=chromium.PHONE) as visitor:
        visitor.open_and_sign_in(account.email)
        visitor.open(f"/projects/{projects[1]}/policy")
        page = visitor.page
        page.get_by_label("Tools").fill("delete_*")
        page.get_by_label("Conditions").fill('/id prefix "u"')
        page.get_by_label("Effect").select_option("deny")
        page.get_by_role("button", name="Preview").click()
        expect(page.get_by_text("With this rule")).to_be_visible()
        page.get_by_role("button", name="Save rule").click()
        expect(page.get_by_text("Saved. It applies from the next call on.")).to_be_visible()
        page.get_by_label("Tools").fill("delete_*")
        page.get_by_label("Effect").select_option("allow")
        page.get_by_role("button", name="Save rule").click()
        expect(page.get_by_text("run with less than before")).to_be_visible()
        assert accessibility.findings(visitor) == []
        page.get_by_role("button", name="Save anyway").click()
        expect(page.get_by_text("Saved. It applies from the next call on.")).to_be_visible()
        page.get_by_role("button", name="Undo your last change").click()
        expect(page.get_by_text("Undone.")).to_be_visible()
        visitor.open(f"/projects/{projects[1]}/policy")
        assert accessibility.findings(visitor) == []
        assert visitor.problems == []
