"""Groups of approvers: who makes and changes them, what is on record, and no rule is opened."""

import re
from typing import Any

import pytest
from django.test import Client

from approvals.models import ApprovalRequest
from audit.models import SecurityEvent
from gateway.models import ApproverGroup, PolicyRule
from tests.drivers.billing import browser_of
from tests.drivers.grants import make_grant
from tests.drivers.reviewed_project import WRITE, ReviewedProject
from tests.drivers.shown_forms import forms_in
from workspace.models import Membership, Organization, Role, User

LIST = "/approver-groups"


@pytest.fixture
def boss(project: ReviewedProject) -> User:
    return project.member("boss", Role.ADMIN)


def page_of(group: ApproverGroup) -> str:
    return f"{LIST}/{group.pk}"


def save(browser: Client, address: str, **entered: Any) -> Any:
    """Sends the form of a group as its page shows it, with what a person enters."""
    shown = browser.get(address)
    form = next(one for one in forms_in(shown, address) if "members" in one.kinds)
    return browser.post(address, {**form.fields, **entered})


def make_group(browser: Client, organization: Organization, name: str) -> ApproverGroup:
    made = browser.post(LIST, {"organization": organization.pk, "name": name})
    group = ApproverGroup.objects.get(organization=organization, name=name)
    assert (made.status_code, made["Location"]) == (302, page_of(group))
    return group


def rule_for(project: ReviewedProject, group: ApproverGroup) -> PolicyRule:
    rule = project.rule(WRITE, "require_approval")
    rule.approver_groups.add(group)
    return rule


def test_an_admin_makes_a_group_and_its_members_decide_what_a_rule_leaves_to_it(
    project: ReviewedProject, boss: User
) -> None:
    browser, first = browser_of(boss), project.member("first")
    policy = browser.get(f"/projects/{project.row.pk}/policy").content.decode()
    assert f'href="{LIST}"' in policy
    group = make_group(browser, project.grant.organization, "Finance")
    saved = save(browser, page_of(group), members=[str(first.pk)])
    assert (saved.status_code, [*group.members.all()]) == (302, [first])
    assert "first@example.com" in browser.get(LIST).content.decode()
    assert "Finance" in browser.get(f"/projects/{project.row.pk}/policy").content.decode()
    rule_for(project, group)
    row = project.request()
    assert browser_of(first).post(f"/requests/{row.pk}/approve").status_code == 302
    assert project.executed == [{"name": "Ada"}]
    events = SecurityEvent.objects.filter(kind="approver_group_changed").order_by("pk")
    assert [(event.detail, event.user_id, event.subject) for event in events] == [
        ("added “Finance”", str(boss.pk), str(group.pk)),
        (
            "changed “Finance”, added ['first@example.com'], removed []",
            str(boss.pk),
            str(group.pk),
        ),
    ]


def test_only_admins_of_the_organization_see_or_change_a_group(
    project: ReviewedProject, boss: User
) -> None:
    group = make_group(browser_of(boss), project.grant.organization, "Finance")
    stranger = make_grant()
    Membership.objects.filter(user=stranger.user).update(role=Role.SUPER_ADMIN)
    member, other = browser_of(project.member("member")), browser_of(stranger.user)
    for browser in (member, other):
        assert browser.get(page_of(group)).status_code == 404
        assert browser.post(page_of(group), {"name": "Mine"}).status_code == 404
        browser.post(f"{page_of(group)}/delete")
    assert member.get(LIST).status_code == 404
    assert "Finance" not in other.get(LIST).content.decode()
    for browser in (member, other):
        given = {"organization": project.grant.organization.pk, "name": "Theirs"}
        assert browser.post(LIST, given).status_code in {400, 404}
    foreign = save(browser_of(boss), page_of(group), members=[str(stranger.user.pk)])
    assert foreign.status_code == 400
    assert Client().get(LIST).status_code == 302
    assert list(ApproverGroup.objects.values_list("name", "members")) == [("Finance", None)]


def test_new_members_of_a_group_that_a_rule_names_are_confirmed(
    project: ReviewedProject, boss: User
) -> None:
    browser, first = browser_of(boss), project.member("first")
    second = project.member("second")
    group = make_group(browser, project.grant.organization, "Finance")
    rule_for(project, group)
    asked = save(browser, page_of(group), members=[str(first.pk)])
    text = asked.content.decode()
    assert "Nothing has been saved yet." in text
    assert f"/projects/{project.row.pk}/policy/{PolicyRule.objects.get().pk}" in text
    assert not group.members.exists()
    form = next(one for one in forms_in(asked, page_of(group)) if "members" in one.kinds)
    # Another choice than the one that was shown is asked about again.
    more = {**form.fields, "members": [str(first.pk), str(second.pk)]}
    assert "Nothing has been saved yet." in browser.post(page_of(group), more).content.decode()
    assert browser.post(page_of(group), form.fields).status_code == 302
    assert [*group.members.all()] == [first]


def test_an_emptied_group_opens_no_rule_and_cannot_be_deleted(
    project: ReviewedProject, boss: User
) -> None:
    browser, first = browser_of(boss), project.member("first")
    group = make_group(browser, project.grant.organization, "Finance")
    save(browser, page_of(group), members=[str(first.pk)])
    rule = rule_for(project, group)
    row = project.request()
    assert save(browser, page_of(group), members=[]).status_code == 302
    assert "cannot be approved by anybody" in browser.get(page_of(group)).content.decode()
    later = project.request(WRITE, name="Bob")
    for one in (row, later):
        for person in (first, project.row.owner, boss):
            assert person is not None
            assert browser_of(person).post(f"/requests/{one.pk}/approve").status_code in {403, 404}
        shown = browser.get(f"/requests/{one.pk}").content.decode()
        assert "No person can approve this." in shown
    assert "Delete the group" not in browser.get(page_of(group)).content.decode()
    refused = browser.post(f"{page_of(group)}/delete", follow=True).content.decode()
    assert "Nothing was deleted: rules name the group." in refused
    assert [*rule.approver_groups.all()] == [group]
    assert project.executed == []


def test_a_rule_is_not_restored_without_its_group(project: ReviewedProject, boss: User) -> None:
    browser = browser_of(boss)
    policy = f"/projects/{project.row.pk}/policy"
    group = make_group(browser, project.grant.organization, "Finance")
    rule = rule_for(project, group)
    page = browser.get(policy)
    form = next(one for one in forms_in(page, policy) if one.action.endswith("/delete"))
    asked = browser.post(f"{policy}/{rule.pk}/delete", form.fields)
    confirmed = forms_in(asked, f"{policy}/{rule.pk}/delete")
    if asked.status_code == 200:
        sure = next(one for one in confirmed if "confirmed" in one.fields)
        browser.post(f"{policy}/{rule.pk}/delete", sure.fields)
    assert not PolicyRule.objects.exists()
    deleted = browser.post(f"{page_of(group)}/delete", follow=True).content.decode()
    assert "The group was deleted." in deleted
    again = browser.post(f"{page_of(group)}/delete", follow=True).content.decode()
    assert "The group was already deleted." in again
    undone = browser.post(f"{policy}/undo", follow=True).content.decode()
    assert "Nothing was undone: the policy has changed since." in undone
    assert not PolicyRule.objects.exists()


def test_a_group_is_not_saved_from_a_page_that_is_older_than_another_change(
    project: ReviewedProject, boss: User
) -> None:
    browser, first = browser_of(boss), project.member("first")
    group = make_group(browser, project.grant.organization, "Finance")
    form = next(
        one for one in forms_in(browser.get(page_of(group)), page_of(group)) if "name" in one.kinds
    )
    save(browser, page_of(group), members=[str(first.pk)])
    stale = browser.post(page_of(group), {**form.fields, "name": "Accounting"})
    assert stale.status_code == 409
    group.refresh_from_db()
    assert (group.name, [*group.members.all()]) == ("Finance", [first])


def test_two_groups_of_an_organization_have_different_names(
    project: ReviewedProject, boss: User
) -> None:
    browser, place = browser_of(boss), project.grant.organization
    make_group(browser, place, "Finance")
    again = browser.post(LIST, {"organization": place.pk, "name": "Finance"})
    assert again.status_code == 400
    assert "has a group of this name" in again.content.decode()
    legal = make_group(browser, place, "Legal")
    renamed = save(browser, page_of(legal), name="Finance")
    assert renamed.status_code == 400
    assert re.search(r'value="Finance"', renamed.content.decode())
    assert not ApprovalRequest.objects.exists()
    assert sorted(ApproverGroup.objects.values_list("name", flat=True)) == ["Finance", "Legal"]
