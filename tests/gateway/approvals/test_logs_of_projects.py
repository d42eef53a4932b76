"""What the logs say about a project: people, clients, requests and changes by name, with links."""

import re
from html import unescape

import pytest
from django.test import Client

from audit.models import ActionExecution, SecurityEvent
from foundation.admin_urls import model_url, row_url
from gateway.models import Project
from tests.drivers import grants
from tests.drivers.billing import browser_of
from tests.drivers.reviewed_project import WRITE, ReviewedProject
from tests.drivers.shown_forms import forms_of, save
from workspace.models import Membership, Role, User

CALLS = model_url(ActionExecution)
EVENTS = "/admin/audit/securityevent/"


@pytest.fixture
def admin(project: ReviewedProject) -> Client:
    return browser_of(project.member("boss", Role.ADMIN))


def project_of_another_organization() -> Project:
    stranger = grants.make_grant()
    return Project.objects.create(
        organization=stranger.organization, name="Elsewhere", target_url="https://api.example"
    )


def deny_reads(browser: Client, project: ReviewedProject) -> None:
    page = f"/projects/{project.row.pk}/policy"
    defaults = {"reads": "deny", "writes": "require_approval", "approval_minutes": 5}
    assert save(browser, page, defaults, to=f"{page}/defaults").status_code == 302


def main_of(page: str) -> str:
    return unescape(page.partition('id="content-start"')[2])


def cell(page: str, column: str) -> str:
    """The content of the first cell of a column."""
    found = re.search(rf'<t[dh] class="field-{column}[^"]*">(.*?)</t[dh]>', page, re.DOTALL)
    assert found is not None, column
    return unescape(found[1])


def test_an_approved_call_names_who_requested_it_with_which_client_and_who_approved_it(
    project: ReviewedProject, admin: Client
) -> None:
    request = project.request()
    owner = project.row.owner
    assert owner is not None
    assert project.owner().post(f"/requests/{request.pk}/approve").status_code == 302
    row = ActionExecution.objects.get(tool=WRITE, outcome="success")

    listed = admin.get(CALLS, {"tool": WRITE, "outcome": "success"}).content.decode()
    requester = project.grant.user
    assert cell(listed, "person") == (
        f'<a href="{row_url(requester)}">{requester.email}</a>; '
        f'<a href="{row_url(request)}">approved by {owner.email}</a>'
    )
    assert project.grant.client.name in cell(listed, "client")
    assert cell(listed, "place") == f'<a href="{row_url(project.row)}">Users</a>'

    page = main_of(admin.get(row_url(row)).content.decode())
    for label, text, url in (
        ("Requested by", requester.email, row_url(requester)),
        ("Approved by", owner.email, row_url(owner)),
        ("Request", str(request), row_url(request)),
        ("Project", "Users", row_url(project.row)),
    ):
        fact = rf'<dt>{label}</dt>\s*<dd>\s*<a href="{re.escape(url)}">{re.escape(text)}</a>'
        assert re.search(fact, page), label
    assert "Granted by" not in page


def test_a_changed_policy_names_who_changed_which_project_from_what_to_what(
    project: ReviewedProject, admin: Client
) -> None:
    deny_reads(admin, project)
    listed = admin.get(EVENTS, {"topic": "policies"}).content.decode()
    boss = User.objects.get(email="boss@example.com")
    assert cell(listed, "person") == f'<a href="{row_url(boss)}">boss@example.com</a>'
    assert cell(listed, "subject_link") == f'<a href="{row_url(project.row)}">Users</a>'
    assert "reads: allow -> deny" in cell(listed, "detail")
    (link,) = re.findall(r'<a href="(/admin/audit/securityevent/[^"?]+/change/)', listed)
    event = main_of(admin.get(link).content.decode())
    assert f'<a href="{row_url(boss)}">boss@example.com</a>' in event
    assert f'<a href="{row_url(project.row)}">Users</a>' in event


def test_a_project_and_its_policy_lead_to_their_history(
    project: ReviewedProject, admin: Client
) -> None:
    page = f"/projects/{project.row.pk}/policy"
    deny_reads(admin, project)
    settings = f"/projects/{project.row.pk}/settings"
    (form,) = [one for one in forms_of(admin, settings) if one.action == settings]
    assert admin.post(settings, {**form.fields, "name": "People"}).status_code == 302
    for path, kinds in (
        (f"/projects/{project.row.pk}", {"policy_changed", "project_changed"}),
        (page, {"policy_changed"}),
        (row_url(project.row), {"policy_changed", "project_changed"}),
    ):
        shown = unescape(admin.get(path).content.decode())
        (history,) = re.findall(r'href="(/admin/audit/securityevent/\?[^"]*)"', shown)
        events = admin.get(history).content.decode()
        found = re.findall(r'<td class="field-kind">(\w+)</td>', events)
        assert {*found} == kinds, path
        assert "People" in events


def test_a_former_member_is_named_without_a_link_and_other_tenants_stay_unknown(
    project: ReviewedProject,
) -> None:
    boss = project.member("boss", Role.ADMIN)
    deny_reads(browser_of(boss), project)
    Membership.objects.filter(user=boss).delete()
    admin = browser_of(project.member("next", Role.ADMIN))
    listed = admin.get(EVENTS, {"subject": project.row.pk}).content.decode()
    assert cell(listed, "person") == "boss@example.com"
    # A key in a row of one's own is no way to the name of another organization's project.
    elsewhere = project_of_another_organization()
    SecurityEvent.objects.update(subject=elsewhere.pk)
    listed = admin.get(EVENTS, {"subject": elsewhere.pk}).content.decode()
    assert cell(listed, "subject_link") == elsewhere.pk
    assert elsewhere.name not in listed


def test_a_member_finds_no_link_to_a_log_that_only_admins_may_open(
    project: ReviewedProject,
) -> None:
    member = browser_of(project.member("member"))
    assert "securityevent" not in member.get(f"/projects/{project.row.pk}").content.decode()
