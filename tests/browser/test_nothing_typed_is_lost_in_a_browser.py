"""What was typed is there after signing in again, after a live refresh, and after going back."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser import chromium
from tests.browser.chromium import Visitor
from tests.drivers import project_rows
from tests.drivers.accounts import Account, open_account
from tests.drivers.evaluation import evaluate
from tests.drivers.mcp import McpClient, http_transport
from tests.drivers.server import Server

pytestmark = [pytest.mark.browser, pytest.mark.process]

TYPED = 'Not this <one>: "wrong" account.'
# A project with a member's token for it.
PROJECT = """
from oauth import mcp_tokens
from tests.drivers import project_rows
from workspace import organizations
from workspace.models import Organization, User
organization = Organization.objects.get(pk={organization!r})
owner = User.objects.get(email={email!r})
member = User.objects.create_user("typist-" + owner.email)
organizations.join(organization, member)
row = project_rows.project(organization, owner)
token = mcp_tokens.issue(member, organization, f"/{{row.pk}}", name="Laptop", days=0, address="")
print(row.pk, token.secret)
"""


@pytest.fixture(scope="module")
def account(server: Server) -> Account:
    return open_account(server.env)


@pytest.fixture(scope="module")
def project(server: Server, account: Account) -> tuple[str, McpClient]:
    code = PROJECT.format(organization=account.organization, email=account.email)
    key, token = evaluate(server.env, code).split()
    return key, McpClient(token).with_transport(http_transport(f"{server.url}/{key}"))


@pytest.fixture
def owner_visitor(visitor: Visitor, account: Account) -> Visitor:
    return visitor.open_and_sign_in(account.email)


def request_of(project: tuple[str, McpClient], key: str) -> str:
    """The page of a new request; an equal call would be answered with the earlier decision."""
    asked = project[1].call(project_rows.DELETE_USER.name, {"id": key}).facts
    return f"/requests/{asked['requestId']}"


def end_session(page: Page) -> None:
    page.context.clear_cookies()


def test_a_reason_is_there_after_the_session_ended(
    owner_visitor: Visitor, account: Account, project: tuple[str, McpClient]
) -> None:
    page, path = owner_visitor.page, request_of(project, "first")
    owner_visitor.open(path)
    page.get_by_label("Reason").fill(TYPED)
    end_session(page)
    page.get_by_role("button", name="Reject", exact=True).click()
    expect(page.get_by_text("What you entered is kept")).to_be_visible()
    owner_visitor.sign_in(account.email)
    expect(page.get_by_label("Reason")).to_have_value(TYPED)
    expect(page.get_by_text("Nothing was saved")).to_be_visible()
    page.get_by_role("button", name="Reject", exact=True).click()
    expect(page.get_by_text(TYPED)).to_be_visible()


def test_a_form_of_the_admin_is_there_after_the_session_ended(
    owner_visitor: Visitor, account: Account, pictures: Path
) -> None:
    page = owner_visitor.page
    owner_visitor.open("/admin/people/workingpattern/add/")
    page.get_by_label("Label").fill(TYPED)
    page.get_by_label("Saturday").fill("60")
    end_session(page)
    page.get_by_role("button", name="Save", exact=True).click()
    owner_visitor.sign_in(account.email)
    expect(page.get_by_label("Label")).to_have_value(TYPED)
    expect(page.get_by_label("Saturday")).to_have_value("60")
    page.screenshot(path=pictures / "kept-admin.png", full_page=True)


def test_a_second_tab_keeps_its_text_when_the_person_signed_in_again(
    owner_visitor: Visitor, account: Account, pictures: Path
) -> None:
    page = owner_visitor.page
    owner_visitor.open("/connections/tokens")
    page.get_by_label("Name").fill(TYPED)
    other = page.context.new_page()
    other.goto(f"{owner_visitor.url}/")
    other.get_by_role("button", name="Sign out").click()
    chromium.Visitor(other, owner_visitor.url).open_and_sign_in(account.email)
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_text("You signed in again after this page was opened.")).to_be_visible()
    expect(page.get_by_label("Name")).to_have_value(TYPED)
    page.screenshot(path=pictures / "kept-tokens.png", full_page=True)


def test_a_reason_stays_when_another_approver_decides(
    owner_visitor: Visitor, project: tuple[str, McpClient], pictures: Path
) -> None:
    page, path = owner_visitor.page, request_of(project, "second")
    owner_visitor.open(path)
    page.get_by_label("Reason").fill(TYPED)
    other = page.context.new_page()
    other.goto(f"{owner_visitor.url}{path}")
    other.get_by_role("button", name="Reject", exact=True).click()
    expect(page.get_by_text("This changed while you were typing.")).to_be_visible()
    expect(page.get_by_label("Your text")).to_have_value(TYPED)
    page.screenshot(path=pictures / "kept-request.png", full_page=True)


@pytest.mark.parametrize(
    ("path", "label", "link"),
    [
        ("/projects/{project}/policy", "Conditions", "Projects"),
        ("/connections/tokens", "Name", "Connections"),
        ("/admin/people/workingpattern/add/", "Label", "Home"),
    ],
)
def test_what_was_typed_is_there_after_going_back(
    owner_visitor: Visitor, project: tuple[str, McpClient], path: str, label: str, link: str
) -> None:
    page = owner_visitor.page
    owner_visitor.open(path.format(project=project[0]))
    page.get_by_label(label).fill(TYPED)
    page.get_by_role("link", name=link, exact=True).first.click()
    expect(page.get_by_label(label)).to_have_count(0)
    page.go_back()
    expect(page.get_by_label(label)).to_have_value(TYPED)
