"""No page offers a link that it refuses to the same person: a crawl from home, for each role."""

import re
from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

import pytest
from django.test import Client as Http

from foundation.admin_urls import row_url
from tests.drivers import project_rows
from workspace import organizations
from workspace.models import Organization, Role, User

LINK = re.compile(r'<a\b[^>]*\bhref="([^"#]+)')
CLICKS = 2
# Thousands of pages of documentation and of the audit log differ in nothing that a role decides.
SKIPPED = re.compile(r"/docs/|/admin/jsi18n|/static/|/signout|/admin/logout|\?")
ROLES = ("no organization", "member", "admin", "super admin", "staff without permissions")


@pytest.fixture
def acme(db: None) -> Organization:  # noqa: ARG001  opens the database
    owner = User.objects.create_user("owner@acme.example")
    acme = organizations.create("Acme Rockets", owner=owner)
    project_rows.project(acme, owner)
    return acme


def sign_in(acme: Organization, role: str) -> Http:
    user = User.objects.create_user("somebody@acme.example", is_staff=role.startswith("staff"))
    roles = {"member": Role.MEMBER, "admin": Role.ADMIN, "super admin": Role.SUPER_ADMIN}
    if role in roles:
        organizations.join(acme, user, role=roles[role])
    browser = Http()
    browser.force_login(user)
    return browser


def links_of(browser: Http, address: str) -> Iterator[str]:
    page = browser.get(address, follow=True)
    assert page.status_code == 200, address
    if "html" in page["Content-Type"]:
        for found in LINK.findall(page.content.decode()):
            target = urljoin(address, found)
            if not urlsplit(target).netloc and not SKIPPED.search(target):
                yield target


@pytest.mark.parametrize("role", ROLES)
def test_every_link_within_two_clicks_of_home_opens(acme: Organization, role: str) -> None:
    browser = sign_in(acme, role)
    seen, found = {"/"}, ["/"]
    for _click in range(CLICKS):
        found = [
            link for address in found for link in links_of(browser, address) if link not in seen
        ]
        found = list(dict.fromkeys(found))
        seen.update(found)
    assert "/connections" in seen
    for address in found:
        assert browser.get(address, follow=True).status_code == 200, address


def test_the_page_of_a_colleague_offers_nothing_that_is_refused(acme: Organization) -> None:
    browser = sign_in(acme, "admin")
    colleague = User.objects.get(email="owner@acme.example")
    links = set(links_of(browser, row_url(colleague)))
    assert links
    for address in links:
        assert browser.get(address, follow=True).status_code == 200, address
