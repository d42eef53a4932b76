"""Each refusal says why, who can change it, and how to go on."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client as Http
from django.utils import timezone

from foundation.admin_urls import row_url
from tests.console import markup
from tests.console.markup import Element
from tests.drivers import project_rows
from tests.drivers.oauth_client import Browser, OAuthClient
from tests.drivers.person import form_with
from workspace import organizations
from workspace.models import Membership, Organization, Role, User

PASSWORD = "correct horse battery staple"


@pytest.fixture
def owner(db: None) -> User:  # noqa: ARG001  opens the database
    return User.objects.create_user("owner@acme.example", PASSWORD)


@pytest.fixture
def acme(owner: User) -> Organization:
    return organizations.create("Acme Rockets", owner=owner)


@pytest.fixture
def oauth_client(db: None) -> OAuthClient:  # noqa: ARG001  as above
    client = OAuthClient()
    assert client.register().status_code == 201
    return client


def sign_in(user: User, **more: Any) -> Http:
    browser = Http(**more)
    browser.force_login(user)
    return browser


def make_member(acme: Organization, name: str = "max", role: str = Role.MEMBER) -> User:
    user = User.objects.create_user(f"{name}@acme.example", PASSWORD)
    Membership.objects.create(user=user, organization=acme, role=role)
    return user


def read(response: Any) -> Element:
    return markup.read(response.content)


def heading(response: Any) -> str:
    return read(response).one("h1").text


def test_a_missing_right_names_the_role_and_who_can_give_another(acme: Organization) -> None:
    page = sign_in(make_member(acme)).get("/admin/audit/actionexecution/", follow=True)
    assert (page.status_code, heading(page)) == (403, "You don't have access to this page")
    text = read(page).text
    assert "Acme Rockets Member" in text
    assert "Who can change your role: owner@acme.example" in text
    assert "You are signed in as max@acme.example" in text


def test_those_who_are_named_can_give_the_role(acme: Organization, owner: User) -> None:
    member = make_member(acme)
    row = Membership.objects.get(user=member)
    browser = sign_in(owner)
    page = browser.get(row_url(row))
    assert Role.ADMIN in dict(page.context["adminform"].form.fields["role"].choices)


@pytest.mark.usefixtures("db")
def test_an_account_without_an_organization_reads_it_on_every_page(settings: Any) -> None:
    settings.HALO_SUPPORT_CONTACT = "mailto:ops@acme.example"
    browser = sign_in(User.objects.create_user("nobody@acme.example"))
    for address in ("/", "/projects", "/requests", "/ask"):
        text = read(browser.get(address)).text
        assert "You are not a member of an organization" in text
        assert "Contact the operator: ops@acme.example" in text
    refused = browser.get("/admin/audit/actionexecution/", follow=True)
    assert heading(refused) == "You don't belong to an organization"


def test_a_suspended_organization_is_named_with_its_time_on_every_page(
    acme: Organization, owner: User, oauth_client: OAuthClient
) -> None:
    browser = sign_in(owner)
    assert "is suspended" not in read(browser.get("/")).text
    Organization.objects.filter(pk=acme.pk).update(suspended_at=timezone.now())
    for address in ("/", "/projects", "/requests", "/ask"):
        text = read(browser.get(address)).text
        assert "Acme Rockets is suspended. Its data is kept" in text
        assert "You are not a member" not in text
    refused = browser.get("/admin/audit/actionexecution/", follow=True)
    assert heading(refused) == "Your organization or membership is suspended"
    consent = Browser(owner).open(oauth_client.authorize_address())
    assert heading(consent) == "Your organization or membership is suspended"


def test_the_contact_of_the_operator_is_a_link_only_if_it_is_a_page(
    settings: Any, acme: Organization, owner: User
) -> None:
    Organization.objects.filter(pk=acme.pk).update(suspended_at=timezone.now())
    settings.HALO_SUPPORT_CONTACT = "https://help.acme.example/halo"
    page = read(sign_in(owner).get("/"))
    assert page.one("a", href="https://help.acme.example/halo").text.endswith("acme.example/halo")


def test_links_are_offered_to_those_who_may_open_their_pages(acme: Organization) -> None:
    staff = User.objects.create_user("staff@acme.example", is_staff=True)
    hidden = {"/service-clients", "/server-keys", "/api-keys", "/agent-keys"}
    audit_log = "/admin/audit/actionexecution/"

    def links(user: User) -> set[str]:
        return {one.attributes.get("href", "") for one in read(sign_in(user).get("/")).all("a")}

    assert links(staff).isdisjoint({*hidden, audit_log})
    staff.user_permissions.add(Permission.objects.get(codename="view_actionexecution"))
    assert audit_log in links(User.objects.get(pk=staff.pk))
    admin = make_member(acme, "admin", Role.ADMIN)
    assert {*hidden, audit_log} <= links(admin)
    browser = sign_in(admin)
    assert {browser.get(one).status_code for one in (*hidden, audit_log)} == {200}


def test_a_page_of_another_account_leads_to_that_account_and_back(
    acme: Organization, owner: User
) -> None:
    assert acme
    stranger = User.objects.create_user("nora@else.example", PASSWORD)
    browser = sign_in(stranger)
    address = "/requests/01a21e05-55a7-7000-8000-000000000000?from=mail"
    page = browser.get(address)
    assert page.status_code == 404
    assert "You are signed in as nora@else.example" in read(page).text
    form = form_with(page.content.decode(), "next")
    sent = dict(form.fields)
    signed_out = browser.post("/signout", {"next": sent["next"]})
    assert signed_out["Location"] == sent["next"]
    shown = form_with(browser.get(sent["next"]).content.decode(), "login")
    entered = {**dict(shown.fields), "login": owner.email, "password": PASSWORD}
    assert browser.post("/signin", entered)["Location"] == address


def test_a_stranger_is_offered_to_sign_in_and_come_back(db: None) -> None:  # noqa: ARG001  a page
    page = read(Http().get("/nowhere"))
    assert page.one("a", class_="button").attributes["href"] == "/signin?next=%2Fnowhere"


def send_form(browser: Http, address: str, referer: str, **fields: str) -> Any:
    return browser.post(address, fields, HTTP_REFERER=f"http://testserver{referer}")


def test_a_form_of_an_ended_session_leads_to_sign_in_and_back(db: None) -> None:  # noqa: ARG001  as above
    browser = Http(enforce_csrf_checks=True)
    page = send_form(browser, "/projects/new", "/projects/new?project=x", text="{}")
    assert (page.status_code, heading(page)) == (403, "You are signed out")
    (link,) = read(page).all("a", class_="button")
    assert link.text == "Sign in and come back"
    assert link.attributes["href"] == "/signin?next=%2Fprojects%2Fnew%3Fproject%3Dx"


def test_a_form_of_before_sign_in_names_the_account_and_opens_the_page_again(owner: User) -> None:
    browser = sign_in(owner, enforce_csrf_checks=True)
    page = send_form(browser, "/connections/revoke", "/connections")
    assert heading(page) == "You signed in after this page was opened"
    assert "You are signed in as owner@acme.example" in read(page).text
    (link,) = read(page).all("a", class_="button")
    assert (link.text, link.attributes["href"]) == ("Open the page again", "/connections")


@pytest.mark.parametrize(
    "referer", ["http://evil.example/x", "http://testserver//evil.example", "javascript:x", ""]
)
def test_the_way_back_stays_on_this_site(owner: User, referer: str) -> None:
    browser = sign_in(owner, enforce_csrf_checks=True)
    page = browser.post("/connections/revoke", HTTP_REFERER=referer)
    (link,) = read(page).all("a", class_="button")
    assert link.attributes["href"] == "/"


def test_consent_that_another_account_was_shown_continues_as_this_one(
    acme: Organization, owner: User, oauth_client: OAuthClient
) -> None:
    other = make_member(acme, "abe")
    shown = Browser(owner).open(oauth_client.authorize_address())
    form = form_with(shown.content.decode(), "request")
    browser = sign_in(other, enforce_csrf_checks=True)
    refused = browser.post("/api/mcp/oauth/consent", dict(form.fields) | {"decision": "approve"})
    assert refused.status_code == 403
    assert heading(refused) == "You are signed in with another account"
    text = read(refused).text
    assert "abe@acme.example" in text
    # Who sent the form does not learn who had opened it.
    assert owner.email not in text
    (link,) = read(refused).all("a", class_="button")
    assert link.text == "Continue as abe@acme.example"
    again = Browser(other).open(link.attributes["href"])
    assert "wants to connect to your organization" in heading(again)


def test_members_are_not_offered_the_policy_that_they_may_not_open(acme: Organization) -> None:
    member, admin = make_member(acme), make_member(acme, "admin", Role.ADMIN)
    project = project_rows.project(acme, admin)
    address = f"/projects/{project.pk}/policy"
    for user, offered in ((member, False), (admin, True)):
        browser = sign_in(user)
        page = read(browser.get(f"/projects/{project.pk}"))
        assert bool(page.all("a", href=address)) is offered
        assert (browser.get(address).status_code == 200) is offered
