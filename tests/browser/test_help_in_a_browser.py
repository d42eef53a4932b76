"""A refused page leads to the account or the person who can open it, and back."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import chromium
from tests.browser.chromium import DESKTOP, PHONE, Visitor
from tests.drivers.accounts import open_account
from tests.drivers.evaluation import evaluate
from tests.drivers.server import PASSWORD, Server

pytestmark = [pytest.mark.browser, pytest.mark.process]
ELSEWHERE = "/requests/01a21e05-55a7-7000-8000-000000000000"
SUSPEND = """
from django.utils import timezone
from workspace.models import Organization
Organization.objects.filter(pk={pk!r}).update(suspended_at=timezone.now())
"""
ADD_MEMBER = """
from foundation.admin_urls import row_url
from tests.drivers import grants
from workspace import organizations
from workspace.models import Organization
grant = grants.make_grant("docs:read")
row = organizations.join(Organization.objects.get(pk={pk!r}), grant.user)
print(row_url(row, "delete"))
"""


@pytest.mark.parametrize("address", [ELSEWHERE, "/connections/" + ELSEWHERE[10:], "/nowhere"])
def test_a_person_switches_to_the_account_of_a_page_and_comes_back(
    server: Server, visitor: Visitor, pictures: Path, address: str
) -> None:
    first, second = open_account(server.env), open_account(server.env)
    visitor.open_and_sign_in(first.email, PASSWORD)
    visitor.open(address)
    expect(visitor.page.get_by_text(f"You are signed in as {first.email}")).to_be_visible()
    visitor.page.screenshot(path=pictures / "not-found.png")
    visitor.page.get_by_role("button", name="Switch account").click()
    visitor.sign_in(second.email, PASSWORD)
    expect(visitor.page.get_by_text(f"You are signed in as {second.email}")).to_be_visible()
    assert visitor.page.url == f"{server.url}{address}"


@pytest.mark.parametrize("address", ["/projects/new", "/server-keys"])
def test_a_form_after_the_end_of_a_session_leads_to_sign_in_and_back_to_its_page(
    server: Server, visitor: Visitor, pictures: Path, address: str
) -> None:
    account = open_account(server.env)
    visitor.open_and_sign_in(account.email, PASSWORD)
    visitor.open(address)
    visitor.page.context.clear_cookies()
    visitor.page.locator("main form").first.evaluate("form => form.submit()")
    expect(
        visitor.page.get_by_text("You were signed out before your form was sent")
    ).to_be_visible()
    visitor.page.screenshot(path=pictures / "signed-out.png")
    visitor.sign_in(account.email, PASSWORD)
    expect(visitor.page.get_by_role("heading", level=1)).not_to_have_text("Sign in")
    assert visitor.page.url == f"{server.url}{address}"


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_suspended_organization_is_said_on_its_pages(
    server: Server, browser: Browser, pictures: Path, size: dict[str, int]
) -> None:
    account = open_account(server.env)
    evaluate(server.env, SUSPEND.format(pk=account.organization))
    with chromium.visiting(browser, server.url, viewport=size) as visitor:
        visitor.open_and_sign_in(account.email, PASSWORD)
        for path in ("/", "/projects", "/requests"):
            visitor.open(path)
            expect(visitor.page.get_by_text("is suspended. Its data is kept")).to_be_visible()
            assert visitor.too_wide_by == 0
        visitor.open("/admin/")
        expect(visitor.page.get_by_role("heading", level=1)).to_have_text(
            "Your organization or membership is suspended"
        )
        visitor.page.screenshot(path=pictures / f"suspended-{size['width']}.png", full_page=True)
        assert visitor.too_wide_by == 0
        assert visitor.problems == []


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_removing_a_member_says_what_ends_and_is_undone(
    server: Server, browser: Browser, pictures: Path, size: dict[str, int]
) -> None:
    account = open_account(server.env)
    address = evaluate(server.env, ADD_MEMBER.format(pk=account.organization)).strip()
    with chromium.visiting(browser, server.url, viewport=size) as visitor:
        visitor.open_and_sign_in(account.email, PASSWORD)
        visitor.open(address)
        expect(visitor.page.get_by_text("suspend the member instead")).to_be_visible()
        visitor.page.screenshot(path=pictures / f"remove-{size['width']}.png", full_page=True)
        visitor.page.get_by_role("button", name=re.compile("^Yes")).click()
        visitor.page.get_by_role("link", name="Undo").click()
        visitor.page.screenshot(path=pictures / f"undo-{size['width']}.png", full_page=True)
        visitor.page.get_by_role("button", name="Undo").click()
        expect(visitor.page.get_by_text("Undone.")).to_be_visible()
        assert visitor.problems == []
