"""A form that met the sign-in page is kept for the person who had opened it, and no one else."""

import html
import time
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

import pytest
import time_machine
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from console.kept_forms import (
    KEPT_OF_ACCOUNT,
    KEPT_OF_ORGANIZATION,
    MAX_KEPT,
    SECONDS,
    SESSION_KEY,
)
from oauth.models import Authorization
from tests.drivers import project_rows
from tests.drivers.oauth_client import OAuthClient
from tests.drivers.person import form_with
from tests.drivers.shown_forms import PageForm, forms_of
from workspace import organizations
from workspace.models import Membership, Organization, Role, User

ORIGIN = "http://testserver"
PASSWORD = "correct horse battery staple"
TOKENS = "/connections/tokens"
CONSENT = "/api/mcp/oauth/consent"
TEXT = "Laptop of Ada <b>"


@pytest.fixture
def owner(db: None) -> User:  # noqa: ARG001  opens the database
    return User.objects.create_user("owner@acme.example", PASSWORD)


@pytest.fixture
def acme(owner: User) -> Organization:
    return organizations.create("Acme Rockets", owner=owner)


def open_browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def form_at(client: Client, page: str, action: str = "") -> PageForm:
    return next(one for one in forms_of(client, page) if one.action == (action or page))


def send(client: Client, page: str, action: str = "", **fields: Any) -> Any:
    """Sends a form of a page as a browser does."""
    headers = {"Origin": ORIGIN, "Referer": ORIGIN + page}
    return client.post(action or page, fields, headers=headers)


def send_signed_out(user: User, page: str = TOKENS, **entered: Any) -> Client:
    """A browser whose session ended before a form that the user had opened was sent."""
    form = form_at(open_browser(user), page)
    browser = Client()
    send(browser, page, **{**form.fields, **entered})
    return browser


def sign_in(browser: Client, user: User) -> Any:
    form = form_with(browser.get("/signin").content.decode(), "login")
    entered = {**dict(form.fields), "login": user.email, "password": PASSWORD}
    return browser.post("/signin", entered)


@pytest.mark.usefixtures("acme")
def test_the_sign_in_page_says_that_the_form_is_kept_and_leads_back_to_it(owner: User) -> None:
    browser = send_signed_out(owner, name=TEXT)
    address = f"/signin?{urlencode({'next': TOKENS})}"
    assert "What you entered is kept" in browser.get(address).content.decode()
    form = form_with(browser.get(address).content.decode(), "login")
    entered = {**dict(form.fields), "login": owner.email, "password": PASSWORD}
    assert browser.post("/signin", entered)["Location"] == TOKENS
    page = browser.get(TOKENS).content.decode()
    assert "You were signed out before this form was sent. Nothing was saved." in page
    assert form_at(browser, TOKENS).fields["name"] == [TEXT]


@pytest.mark.usefixtures("acme")
def test_the_form_is_filled_until_it_is_sent(owner: User) -> None:
    browser = send_signed_out(owner, name=TEXT)
    sign_in(browser, owner)
    for _reload in range(2):
        form = form_at(browser, TOKENS)
        assert form.fields["name"] == [TEXT]
    assert "Personal token created" in send(browser, TOKENS, **form.fields).content.decode()
    assert form_at(browser, TOKENS).fields["name"] == [""]
    assert SESSION_KEY not in browser.session


def flood(user: User) -> str:
    """Keeps large forms of a user in new browsers until one is refused; returns that page."""
    form = form_at(open_browser(user), TOKENS)
    for _attempt in range(100):
        answer = send(Client(), TOKENS, **{**form.fields, "name": "a" * 1_000_000})
        if answer.status_code != HTTPStatus.FOUND:
            return str(answer.content.decode())
    raise AssertionError("None was refused.")


@pytest.mark.usefixtures("acme")
def test_no_more_is_kept_of_an_account_in_an_hour_and_a_page_says_so(owner: User) -> None:
    browser = send_signed_out(owner, name=TEXT)
    page = flood(owner)
    assert "What you entered could not be kept" in page
    assert f"/signin?next={TOKENS}" in page.replace("%2F", "/")
    form = form_at(open_browser(owner), TOKENS)
    refused = send(browser, TOKENS, **{**form.fields, "name": "later " * 100_000})
    assert "What you entered could not be kept" in refused.content.decode()
    sign_in(browser, owner)
    assert form_at(browser, TOKENS).fields["name"] == [TEXT]
    stranger = User.objects.create_user("stranger@other.example", PASSWORD)
    organizations.create("Other", owner=stranger)
    assert SESSION_KEY in send_signed_out(stranger, name=TEXT).session


def test_no_more_is_kept_of_an_organization_in_an_hour(acme: Organization, owner: User) -> None:
    count = KEPT_OF_ORGANIZATION.count // KEPT_OF_ACCOUNT.count + 1
    for number in range(count):
        member = User.objects.create_user(f"member-{number}@acme.example", PASSWORD)
        organizations.join(acme, member)
        assert "What you entered could not be kept" in flood(member)
    assert SESSION_KEY not in send_signed_out(owner, name="a" * 900_000).session


@pytest.mark.usefixtures("acme")
def test_what_was_kept_can_be_discarded(owner: User) -> None:
    browser = send_signed_out(owner, name=TEXT)
    sign_in(browser, owner)
    form = form_at(browser, TOKENS, reverse("kept_form_discard"))
    assert browser.post(form.action, form.fields)["Location"] == TOKENS
    assert form_at(browser, TOKENS).fields["name"] == [""]


def test_another_person_who_signs_in_is_shown_nothing_of_it(
    acme: Organization, owner: User
) -> None:
    other = User.objects.create_user("other@acme.example", PASSWORD)
    Membership.objects.create(user=other, organization=acme)
    browser = send_signed_out(owner, name=TEXT)
    sign_in(browser, other)
    assert SESSION_KEY not in browser.session
    page = browser.get(TOKENS).content.decode()
    assert html.escape(TEXT) not in page
    assert "signed out before" not in page


def test_the_form_of_another_account_is_refused_and_not_kept(
    acme: Organization, owner: User
) -> None:
    other = User.objects.create_user("other@acme.example")
    Membership.objects.create(user=other, organization=acme)
    form = form_at(open_browser(owner), TOKENS)
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(other)
    refused = send(browser, TOKENS, **{**form.fields, "name": TEXT})
    assert refused.status_code == 403
    assert SESSION_KEY not in browser.session


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Origin": "null"}, {}])
def test_a_form_that_no_page_of_this_site_sent_fills_in_nothing(
    owner: User, headers: dict[str, str]
) -> None:
    form = form_at(open_browser(owner), TOKENS)
    browser = Client()
    browser.post(TOKENS, {**form.fields, "name": TEXT}, headers=headers)
    sign_in(browser, owner)
    assert form_at(browser, TOKENS).fields["name"] == [""]


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize("opened_by", ["", "x", "01a21e00-55a7-7000-8000-000000000000:forged"])
def test_a_form_that_names_no_account_is_not_stored(owner: User, opened_by: str) -> None:
    form = form_at(open_browser(owner), TOKENS)
    browser = Client()
    send(browser, TOKENS, **{**form.fields, "name": TEXT, "opened_by": opened_by})
    assert not browser.session.keys()


@pytest.mark.usefixtures("acme")
def test_few_forms_are_kept_and_only_for_an_hour(owner: User) -> None:
    opened = open_browser(owner)
    browser = Client()
    pages = [f"{TOKENS}?tab={number}" for number in range(MAX_KEPT + 1)]
    for page in pages:
        form = next(one for one in forms_of(opened, page) if "name" in one.fields)
        send(browser, page, page, **{**form.fields, "name": TEXT})
    assert len(browser.session[SESSION_KEY]) == MAX_KEPT
    sign_in(browser, owner)
    assert html.escape(TEXT) in browser.get(pages[-1]).content.decode()
    with time_machine.travel(time.time() + SECONDS + 1, tick=True):
        page = browser.get(pages[-1])
        assert page.status_code == 200
        assert html.escape(TEXT) not in page.content.decode()
    assert SESSION_KEY not in browser.session


def test_a_person_who_signed_in_again_elsewhere_sends_the_form_once_more(
    acme: Organization, owner: User
) -> None:
    form = form_at(open_browser(owner), TOKENS)
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(owner)
    again = send(browser, TOKENS, **{**form.fields, "name": TEXT})
    assert (again.status_code, again["Location"]) == (302, TOKENS)
    page = browser.get(TOKENS).content.decode()
    assert "You signed in again after this page was opened. Nothing was saved." in page
    fields = form_at(browser, TOKENS).fields
    assert (fields["name"], fields["organization"]) == ([TEXT], [str(acme.pk)])
    assert "Personal token created" in send(browser, TOKENS, **fields).content.decode()


@pytest.mark.usefixtures("acme")
def test_the_page_names_the_files_that_have_to_be_chosen_again(owner: User) -> None:
    new = "/projects/new"
    form = form_at(open_browser(owner), new)
    entered = {**form.fields, "url": "https://api.example/openapi.json"}
    browser = Client()
    file = SimpleUploadedFile("books.yaml", b"openapi: 3.1.0")
    send(browser, new, **{**entered, "upload": file})
    browser.force_login(owner)
    page = browser.get(new).content.decode()
    assert "Files are not kept. Choose again: books.yaml." in page
    assert form_at(browser, new).fields["url"] == ["https://api.example/openapi.json"]


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize(
    ("page", "field"), [("/projects/new", "upload"), ("/admin/workspace/dataimport/add/", "file")]
)
def test_after_an_error_the_page_names_the_files_that_have_to_be_chosen_again(
    owner: User, page: str, field: str
) -> None:
    browser = open_browser(owner)
    form = form_at(browser, page)
    file = SimpleUploadedFile("books.yaml", b"\xff\xfe")
    entered = {**form.fields, "url": "https://api.example/", "kind": "none", field: file}
    refused = browser.post(page, entered)
    assert "Choose books.yaml again" in refused.content.decode()


@pytest.mark.usefixtures("acme")
def test_rows_that_were_added_to_a_table_of_the_admin_are_there_again(owner: User) -> None:
    page = "/admin/agents/agentdefinition/add/"
    form = form_at(open_browser(owner), page)
    added = {"options-TOTAL_FORMS": "1", "options-0-name": "tone", "options-0-title": TEXT}
    browser = Client()
    send(browser, page, **{**form.fields, **added})
    browser.force_login(owner)
    fields = form_at(browser, page).fields
    assert {name: fields[name] for name in added} == {key: [text] for key, text in added.items()}


def test_what_the_form_has_no_place_for_is_shown_as_text(acme: Organization, owner: User) -> None:
    member = User.objects.create_user("left@acme.example", PASSWORD)
    row = Membership.objects.create(user=member, organization=acme, role=Role.MEMBER)
    project = make_project(acme, owner)
    page = f"/projects/{project}/policy"
    client = open_browser(owner)
    form = next(one for one in forms_of(client, page) if "pattern" in one.fields)
    browser = Client()
    send(browser, page, **{**form.fields, "pattern": TEXT, "approvers": [str(member.pk)]})
    row.delete()
    browser.force_login(owner)
    text = browser.get(page).content.decode()
    assert "The form has no place for this any more" in text
    assert str(member.pk) in text
    shown = next(one for one in forms_of(browser, page) if "pattern" in one.fields)
    assert shown.fields["pattern"] == [TEXT]


def test_a_form_that_was_shown_by_an_address_without_a_page_is_filled_on_its_page(
    acme: Organization, owner: User
) -> None:
    page = f"/projects/{make_project(acme, owner)}/policy"
    form = next(one for one in forms_of(open_browser(owner), page) if "writes" in one.fields)
    browser = Client()
    sent_at = f"{page}/defaults"
    send(browser, sent_at, sent_at, **{**form.fields, "approval_minutes": "77"})
    browser.force_login(owner)
    assert browser.get(sent_at)["Location"] == page
    shown = next(one for one in forms_of(browser, page) if "writes" in one.fields)
    assert shown.fields["approval_minutes"] == ["77"]


def test_what_changed_while_the_form_was_kept_is_shown_before_it_is_saved(
    acme: Organization, owner: User
) -> None:
    page = f"/projects/{make_project(acme, owner)}/policy"
    client = open_browser(owner)
    form = next(one for one in forms_of(client, page) if "writes" in one.fields)
    browser = Client()
    send(browser, page, form.action, **{**form.fields, "approval_minutes": "77"})
    client.post(form.action, {**form.fields, "writes": "deny"})
    browser.force_login(owner)
    kept = next(one for one in forms_of(browser, page) if "writes" in one.fields)
    refused = browser.post(form.action, kept.fields)
    assert refused.status_code == 409
    assert "owner@acme.example changed this" in refused.content.decode()


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize("checks", [{}, {"enforce_csrf_checks": True}])
def test_the_boxes_of_the_consent_page_are_as_they_were_left(
    owner: User, checks: dict[str, bool]
) -> None:
    program = OAuthClient()
    assert program.register().status_code == 201
    page = program.authorize_address()
    form = form_at(open_browser(owner), page, CONSENT)
    left = form.fields["scope"][1:]
    assert left
    browser = Client(**checks)
    entered = {**form.fields, "scope": left, "decision": "approve"}
    assert "/signin" in send(browser, page, CONSENT, **entered)["Location"]
    browser.force_login(owner)
    assert form_at(browser, page, CONSENT).fields["scope"] == left
    assert not Authorization.objects.exists()


def make_project(acme: Organization, owner: User) -> str:
    return str(project_rows.project(acme, owner).pk)
