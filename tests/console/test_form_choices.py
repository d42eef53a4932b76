"""Forms ask for no organization where there is one, and offer only people who can sign in."""

from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.utils import timezone

from audit.models import SecurityEvent
from foundation.admin_urls import row_url
from gateway.models import PolicyRule, Project, ProjectTool
from oauth import mcp_tokens
from tests.drivers import every_form, project_rows
from tests.drivers.shown_forms import PageForm, forms_in, forms_of
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
def project(acme: Organization, owner: User) -> Project:
    return project_rows.project(acme, owner)


def open_browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def add_member(acme: Organization, name: str, **more: Any) -> Membership:
    user = User.objects.create_user(f"{name}@acme.example", **more)
    return Membership.objects.create(user=user, organization=acme)


def form_with(client: Client, page: str, name: str) -> PageForm:
    return next(one for one in forms_of(client, page) if name in one.kinds)


def test_no_form_of_the_console_asks_for_the_only_organization(
    acme: Organization, owner: User
) -> None:
    client, found = open_browser(owner), 0
    for one in every_form.forms_of_pages(client, every_form.pages({})):
        if "organization" in one.form.kinds:
            found += 1
            assert one.form.kinds["organization"] == "hidden", one.page
            assert one.form.fields["organization"] == [str(acme.pk)], one.page
    assert found == 7


def test_every_form_of_the_admin_selects_the_only_organization(
    acme: Organization, owner: User
) -> None:
    client, found = open_browser(owner), 0
    for model in admin.site._registry:
        page = f"/admin/{model._meta.app_label}/{model._meta.model_name}/add/"
        shown = client.get(page)
        if shown.status_code == 200:
            for form in forms_in(shown, page):
                if "organization" in form.kinds:
                    found += 1
                    assert form.fields["organization"] == [str(acme.pk)], page
    assert found > 10


def test_of_two_organizations_one_is_chosen(acme: Organization, owner: User) -> None:
    other = organizations.create("Zeta", owner=owner)
    form = form_with(open_browser(owner), "/connections/tokens", "organization")
    assert form.kinds["organization"] == "select"
    assert form.options["organization"] == [str(acme.pk), str(other.pk)]


@pytest.mark.parametrize(
    ("page", "field"), [("/projects/{}/policy", "approvers"), ("/projects/{}/settings", "owner")]
)
def test_only_people_who_can_sign_in_are_offered(
    acme: Organization, owner: User, project: Project, page: str, field: str
) -> None:
    able = add_member(acme, "able", password=PASSWORD)
    add_member(acme, "invited")
    add_member(acme, "left", password=PASSWORD, is_active=False)
    suspended = add_member(acme, "suspended", password=PASSWORD)
    organizations.suspend_member(suspended)
    form = form_with(open_browser(owner), page.format(project.pk), field)
    assert {*form.options[field]} == {str(owner.pk), str(able.user_id)}


def test_an_approver_who_cannot_sign_in_now_stays_until_they_are_removed(
    acme: Organization, owner: User, project: Project
) -> None:
    member = add_member(acme, "away", password=PASSWORD)
    rule = PolicyRule.objects.create(
        project=project, position=0, pattern="x", effect="require_approval"
    )
    rule.approvers.set([member.user])
    organizations.suspend_member(member)
    client, page = open_browser(owner), f"/projects/{project.pk}/policy/{rule.pk}"
    assert "away@acme.example (cannot sign in now)" in client.get(page).content.decode()
    form = form_with(client, page, "pattern")
    assert client.post(page, {**form.fields, "pattern": "y"}).status_code == 302
    rule.refresh_from_db()
    assert (rule.pattern, [*rule.approvers.all()]) == ("y", [member.user])


def test_tokens_of_a_suspended_member_are_listed_as_paused(
    acme: Organization, owner: User, project: Project
) -> None:
    mcp_tokens.issue(owner, acme, f"/{project.pk}", name="Laptop", days=0, address="")
    client = open_browser(owner)
    assert ">Paused<" not in client.get("/projects-tokens").content.decode()
    Membership.objects.filter(user=owner).update(suspended_at=timezone.now())
    assert ">Paused<" in client.get("/projects-tokens").content.decode()


@pytest.mark.parametrize("model", [User, Organization])
def test_what_a_superuser_changes_in_a_table_of_memberships_is_on_record(
    acme: Organization, model: type[Any]
) -> None:
    member = add_member(acme, "max")
    client = open_browser(User.objects.create_superuser("root@example.com"))
    page = row_url(member.user if model is User else acme)
    for change, event in (
        ({"role": Role.ADMIN}, ("role_changed", "member to admin, by root@example.com")),
        ({"DELETE": "on"}, ("member_removed", "by root@example.com")),
    ):
        form = next(one for one in forms_of(client, page) if one.action == page)
        (prefix,) = [
            name.removesuffix("-id")
            for name, values in form.fields.items()
            if name.startswith("memberships-") and values == [str(member.pk)]
        ]
        sent = {f"{prefix}-{name}": value for name, value in change.items()}
        assert client.post(page, {**form.fields, **sent}).status_code == 302
        events = SecurityEvent.objects.filter(subject=str(member.user_id))
        assert event in events.values_list("kind", "detail")


def test_changed_tools_stay_changed_on_other_pages_until_they_are_saved(
    owner: User, project: Project
) -> None:
    ProjectTool.objects.bulk_create(
        ProjectTool(project=project, name=f"tool_{n:03}", key=f"GET /{n}", operation={})
        for n in range(150)
    )
    client, page = open_browser(owner), f"/projects/{project.pk}"
    form = form_with(client, page, "enabled")
    off = form.fields["enabled"][:19]
    entered = {**form.fields, "enabled": form.fields["enabled"][19:]}
    second = client.post(form.action, {**entered, "page": "2"})
    assert "19 tools on other pages are changed and not saved yet." in second.content.decode()
    assert not project.tools.filter(is_enabled=False).exists()
    shown = next(one for one in forms_in(second, page) if one.action == form.action)
    # Back to the first page, and again to the second: the boxes are as they were left.
    first = client.post(form.action, {**shown.fields, "page": "1"})
    again = next(one for one in forms_in(first, page) if one.action == form.action)
    assert not {*off} & {*again.fields["enabled"]}
    second = client.post(form.action, {**again.fields, "page": "2"})
    shown = next(one for one in forms_in(second, page) if one.action == form.action)
    assert client.post(form.action, shown.fields).status_code == 302
    saved = project.tools.filter(is_enabled=False).values_list("pk", flat=True)
    assert {str(one) for one in saved} == {*off}


def test_changed_tools_of_all_pages_are_there_after_the_session_ended_on_a_later_one(
    owner: User, project: Project
) -> None:
    ProjectTool.objects.bulk_create(
        ProjectTool(project=project, name=f"tool_{n:03}", key=f"GET /{n}", operation={})
        for n in range(150)
    )
    client, page = open_browser(owner), f"/projects/{project.pk}"
    form = form_with(client, page, "enabled")
    entered = {**form.fields, "enabled": form.fields["enabled"][1:], "page": "2"}
    second = client.post(form.action, entered)
    shown = next(one for one in forms_in(second, page) if one.action == form.action)
    enabled = shown.fields["enabled"]
    browser, origin = Client(), "http://testserver"
    headers = {"Origin": origin, "Referer": origin + form.action}
    browser.post(form.action, {**shown.fields, "enabled": enabled[:-1]}, headers=headers)
    browser.force_login(owner)
    assert browser.get(form.action)["Location"] == page
    filled = form_with(browser, page, "enabled")
    assert "Nothing was saved" in browser.get(page).content.decode()
    assert browser.post(form.action, filled.fields).status_code == 302
    saved = project.tools.filter(is_enabled=False).values_list("pk", flat=True)
    assert {str(one) for one in saved} == {form.fields["enabled"][0], enabled[-1]}


def test_a_tool_that_another_person_changed_meanwhile_is_not_overwritten_from_a_later_page(
    acme: Organization, owner: User, project: Project
) -> None:
    ProjectTool.objects.bulk_create(
        ProjectTool(project=project, name=f"tool_{n:03}", key=f"GET /{n}", operation={})
        for n in range(150)
    )
    other = User.objects.create_user("ana@acme.example")
    Membership.objects.create(user=other, organization=acme, role=Role.ADMIN)
    client, page = open_browser(owner), f"/projects/{project.pk}"
    form = form_with(client, page, "enabled")
    changed = form.fields["enabled"][0]
    entered = {**form.fields, "enabled": form.fields["enabled"][1:], "reads": [changed]}
    second = client.post(form.action, {**entered, "page": "2"})
    theirs = form_with(open_browser(other), page, "enabled")
    read = {**theirs.fields, "enabled": theirs.fields["enabled"][1:]}
    assert open_browser(other).post(form.action, read).status_code == 302
    shown = next(one for one in forms_in(second, page) if one.action == form.action)
    refused = client.post(form.action, shown.fields)
    assert refused.status_code == 409
    assert "ana@acme.example changed this" in refused.content.decode()
