"""Policies: which rule decides about a call, and the page on which they are changed."""

import json
import re
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from audit.models import SecurityEvent
from gateway import policies
from gateway.models import ApproverGroup, Effect, PolicyRule, Project, ProjectTool
from gateway.rules import conditions
from gateway.rules.opening import Step
from tests.drivers.billing import browser_of
from tests.drivers.reviewed_project import READ, REMOVE, WRITE, ReviewedProject
from tests.drivers.shown_forms import save
from workspace.models import Role

GIVEN = {"amount": 5, "flag": True, "region": "eu-1", "list": [{"a/b~c": 1.0}], "none": None}

# Where a form is sent, but for the page that shows it.
SENT_FROM = re.compile(r"/(defaults|tools)$|/[^/]+/(move|delete)$")


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("/amount > 4.9", True),
        ("/amount > 5", False),
        ("/amount >= 5", True),
        ("/amount < 5.5", True),
        ("/amount <= 4", False),
        ("/amount == 5.0", True),
        ('/amount == "5"', False),
        ('/amount != "5"', False),
        ("/amount != 6", True),
        ("/amount in [1, 5]", True),
        ('/amount in ["5", true]', False),
        ("/flag > 0", False),
        ("/flag == true", True),
        ("/flag == 1", False),
        ('/region prefix "eu"', True),
        ('/region prefix "us"', False),
        ('/amount prefix "5"', False),
        ("/region > 1", False),
        ("/list/0/a~1b~0c == 1", True),
        ("/list/00/a~1b~0c == 1", False),
        ("/list/1/a == 1", False),
        ("/list/- == 1", False),
        ("/none == null", True),
        ("/missing != 1", False),
        ("/missing == null", False),
        ("/amount/x == 1", False),
    ],
)
def test_a_condition_holds_for_values_of_its_type_alone(text: str, *, holds: bool) -> None:
    (condition,) = conditions.parse(text)
    assert condition.holds(GIVEN) is holds
    assert conditions.parse(conditions.to_text([condition.as_json()])) == [condition]


@pytest.mark.parametrize(
    "text",
    [
        "amount > 1", "/amount", "/amount >", "/amount ~ 1", "/a > true", '/a > "1"', "/a in 1",
        "/a == [1]", "/a prefix 1", "/a == NaN", "/a == 1e999", '/a == "\\u0000"', "/~2 == 1",
        "/a == eu", "/a == {}", "/a in [[1]]", "/a == " + "[" * 2_000, "/a == 1\n" * 11,
    ],
)  # fmt: skip
def test_a_condition_that_compares_nothing_is_refused(text: str) -> None:
    with pytest.raises(conditions.InvalidCondition):
        conditions.parse(text)


@pytest.mark.parametrize(
    ("pattern", "name", "is_match"),
    [
        ("*", "", True),
        ("list_*", "list_users", True),
        ("list_*", "List_users", False),
        ("*_users", "list_users", True),
        ("l*_*s", "list_users", True),
        ("list_users", "list_users", True),
        ("list", "list_users", False),
        ("a*a", "a", False),
        ("*a*b*", "ba", False),
        ("l?st*", "list", False),
        ("*a" * 50 + "*", "a" * 49, False),
    ],
)
def test_a_star_stands_for_any_characters(pattern: str, name: str, *, is_match: bool) -> None:
    assert policies.matches(pattern, name) is is_match


def test_the_first_rule_that_matches_decides_about_a_call(project: ReviewedProject) -> None:
    project.rule("create_*", "deny", ("/amount", ">", 1000))
    project.rule("create_*", "allow", ("/amount", "<=", 10), ("/name", "prefix", "A"))
    project.rule("delete_*", "deny")
    assert project.call(WRITE, name="Ada", amount=10).status == 200
    project.request(WRITE, name="Bob", amount=10)
    project.request(WRITE, name="Ada", amount=11)
    project.request(WRITE, name="Ada")
    for tool, amount in ((WRITE, 1001), (REMOVE, 1)):
        refused = project.call(tool, name="Ada", amount=amount).error
        assert refused["message"] == "Denied by policy"
        assert refused["data"] == {"reason": "policy_denied", "layer": "policy"}
    assert project.executed == [{"name": "Ada", "amount": 10}]
    policy = policies.read(project.row.pk)
    effects = [policy.reachable_effects(one, is_read=False) for one in (WRITE, REMOVE)]
    assert effects == [{*Effect}, {Effect.DENY}]
    Project.objects.update(reads="deny")
    assert project.call(READ).error["message"] == "Denied by policy"


def test_a_stored_rule_that_cannot_be_read_denies_what_it_names(project: ReviewedProject) -> None:
    project.rule("create_*", "allow", ("amount", "~", 1))
    assert project.call().error["message"] == "Denied by policy"
    assert policies.read("prj_unknown").decide(READ, {}, is_read=True).effect == "deny"


def page(project: ReviewedProject, rest: str = "") -> str:
    return f"/projects/{project.row.pk}/policy{rest}"


def send(browser: Client, url: str, given: dict[str, Any]) -> Any:
    """Sends a form from the page that shows it."""
    return save(browser, SENT_FROM.sub("", url), given, to=url)


def confirm(browser: Client, url: str, given: dict[str, Any]) -> list[str]:
    """Saves a form and confirms what it opens; returns the tools that are opened."""
    asked = send(browser, url, given)
    if asked.status_code == 302:
        return []
    assert asked.status_code == 200
    assert [opened.name for opened in asked.context["opened"]]
    again: dict[str, list[str]] = {}
    for name, value in asked.context["given"]:
        again.setdefault(name, []).append(value)
    assert browser.post(url, again).status_code == 302
    return [opened.name for opened in asked.context["opened"]]


@pytest.fixture
def admin(project: ReviewedProject) -> Client:
    return browser_of(project.member("boss", Role.ADMIN))


def test_an_admin_adds_orders_changes_and_deletes_rules(
    project: ReviewedProject, admin: Client
) -> None:
    approver = project.member("approver")
    form: dict[str, Any] = {"pattern": "create_*", "effect": "require_approval"}
    given = {**form, "conditions": "/amount > 100", "approvers": [approver.pk]}
    assert confirm(admin, page(project), given) == [WRITE]  # another approver than the owner
    assert confirm(admin, page(project), {"pattern": "*", "effect": "allow"}) == [WRITE, REMOVE]
    first, second = PolicyRule.objects.all()
    assert [*first.approvers.all()] == [approver]
    assert first.conditions == [{"pointer": "/amount", "operator": ">", "value": 100}]
    shown = admin.get(page(project, f"/{first.pk}")).content.decode()
    assert "/amount &gt; 100" in shown
    assert approver.email in shown
    assert project.call().result["content"][0]["text"] == "made Ada"

    assert confirm(admin, page(project, f"/{second.pk}/move"), {"to": "up"}) == [WRITE]
    assert [*PolicyRule.objects.values_list("pattern", flat=True)] == ["*", "create_*"]
    changed = {"pattern": "*", "effect": "deny", "approver_roles": ["admin"]}
    assert send(admin, page(project, f"/{second.pk}"), changed).status_code == 302
    assert project.call().error["message"] == "Denied by policy"
    assert confirm(admin, page(project, f"/{second.pk}/delete"), {}) == [WRITE, REMOVE, READ]
    project.request(WRITE, name="Eve", amount=101)
    defaults = {"reads": "deny", "writes": "allow", "approval_minutes": 5, "self_approval": "on"}
    assert confirm(admin, page(project, "/defaults"), defaults) == [WRITE, REMOVE]
    assert project.call(READ).error["message"] == "Denied by policy"

    events = SecurityEvent.objects.filter(kind="policy_changed", subject=project.row.pk)
    assert sum(event.count for event in events) == 6
    before, after = {"tools": "*", "effect": "allow"}, {"tools": "*", "effect": "deny"}
    changed_to = f"1. {json.dumps({**after, 'approver_roles': ['admin']})}"
    detail = f"changed 1. {json.dumps(before)} to {changed_to}"
    assert detail in {event.detail for event in events}
    history = LogEntry.objects.filter(object_id=project.row.pk)
    assert f"policy_changed: {detail}" in {entry.change_message for entry in history}
    assert {entry.user.email for entry in history} == {"boss@example.com"}
    assert "writes: require_approval -> allow" in history[0].change_message


def test_a_form_that_nobody_filled_in_opens_nothing(
    project: ReviewedProject, admin: Client
) -> None:
    shown = admin.get(page(project)).content.decode()
    form = shown.partition('<form class="stack" method="post" data-submit-once>')[2]
    assert re.search(r'name="pattern"[^>]*value=""', form)
    assert re.search(r'<option value=""\s+selected', form)
    for untouched in ({"pattern": "", "effect": ""}, {"pattern": "*", "effect": ""}):
        assert send(admin, page(project), untouched).status_code == 400
    assert not PolicyRule.objects.exists()


def test_what_a_change_opens_is_confirmed_first(project: ReviewedProject, admin: Client) -> None:
    given = {"pattern": "delete_*", "effect": "allow"}
    asked = send(admin, page(project), given)
    shown = " ".join(asked.content.decode().split())
    assert "This lets 1 tool run with less than before" in shown
    assert "Saved." not in shown
    change = "<code>delete_user</code>: Require approval → <strong>Allow</strong> (changes data)"
    assert change in shown
    assert not PolicyRule.objects.exists()
    assert not SecurityEvent.objects.filter(kind="policy_changed").exists()
    # The confirmation is of what was shown, and of nothing else.
    confirmed = dict(asked.context["given"])
    other = admin.post(page(project), {**confirmed, "pattern": "*"})
    assert [opened.name for opened in other.context["opened"]] == [WRITE, REMOVE]
    assert not PolicyRule.objects.exists()
    assert "Saved." not in admin.get(page(project)).content.decode()
    saved = admin.post(page(project), confirmed, follow=True)
    assert "Saved. It applies from the next call on." in saved.content.decode()
    assert project.call(REMOVE).result["content"][0]["text"] == "made Ada"


@pytest.mark.parametrize(
    ("rules", "opened"),
    [
        (["delete_* deny"], [REMOVE]),
        (["delete_* allow"], []),
        (["delete_* deny /name", "delete_* deny"], []),
        (["delete_* deny /name", "* require_approval"], [REMOVE]),
        (["* deny", "* allow"], [WRITE, REMOVE, READ]),
        (["nothing_* deny"], []),
        (["* require_approval", "* deny"], []),
    ],
)
def test_deleting_a_rule_says_what_it_lets_through(
    project: ReviewedProject, admin: Client, rules: list[str], opened: list[str]
) -> None:
    for rule in rules:
        pattern, effect, *conditions = rule.split()
        project.rule(pattern, effect, *((one, "==", "Ada") for one in conditions))
    first = PolicyRule.objects.order_by("position")[0]
    assert confirm(admin, page(project, f"/{first.pk}/delete"), {}) == opened
    assert not PolicyRule.objects.filter(pk=first.pk).exists()


def test_a_tool_that_changes_data_is_opened_after_it_was_confirmed(
    project: ReviewedProject, admin: Client
) -> None:
    ids = {tool.name: str(tool.pk) for tool in project.row.tools.all()}
    url, shown = f"/projects/{project.row.pk}/tools", [*ids.values()]
    off = {"shown": shown, "enabled": [], "reads": [ids[READ]]}
    assert confirm(admin, url, off) == []
    assert confirm(admin, url, {**off, "enabled": [ids[READ]]}) == []
    some = {**off, "enabled": [ids[READ], ids[WRITE]]}
    assert confirm(admin, url, some) == [WRITE]
    asked = send(admin, url, {**some, "reads": [ids[READ], ids[REMOVE]]})
    page = " ".join(asked.content.decode().split())
    change = "<code>delete_user</code>: Deny → <strong>Allow</strong> (changes data)"
    assert change in page
    assert not project.row.tools.get(name=REMOVE).is_read
    assert confirm(admin, url, {**some, "reads": shown}) == [WRITE, REMOVE]


def test_letting_requesters_approve_their_own_requests_is_confirmed(
    project: ReviewedProject, admin: Client
) -> None:
    url = page(project, "/defaults")
    given = {"reads": "require_approval", "writes": "require_approval", "approval_minutes": 60}
    assert confirm(admin, url, given) == []
    asked = send(admin, url, {**given, "self_approval": "on"})
    shown = " ".join(asked.content.decode().split())
    assert shown.count("May also be approved by: the requester") == 3
    assert not Project.objects.get().self_approval
    assert confirm(admin, url, {**given, "self_approval": "on"}) == [WRITE, REMOVE, READ]
    assert Project.objects.get().self_approval
    assert confirm(admin, url, given) == []


@pytest.mark.parametrize(
    ("approver_roles", "opened"),
    [
        (["admin", "member"], "May also be approved by: the role member"),
        ([], "May also be approved by: the owner of the project"),
        (["admin"], ""),
    ],
)
def test_further_approvers_of_a_rule_are_confirmed(
    project: ReviewedProject, admin: Client, approver_roles: list[str], opened: str
) -> None:
    rule = project.rule("delete_*", "require_approval", approver_roles=["admin", "super_admin"])
    given = {"pattern": rule.pattern, "effect": rule.effect, "approver_roles": approver_roles}
    asked = send(admin, page(project, f"/{rule.pk}"), given)
    assert asked.status_code == (200 if opened else 302)
    assert opened in " ".join(asked.content.decode().split())


def test_a_rule_that_is_moved_in_front_of_stricter_approvers_is_confirmed(
    project: ReviewedProject, admin: Client
) -> None:
    project.rule("delete_*", "require_approval", approver_roles=["super_admin"])
    wider = project.rule("*", "require_approval")
    wider.approvers.add(project.member("intern"))
    assert confirm(admin, page(project, f"/{wider.pk}/move"), {"to": "up"}) == [REMOVE]


def test_tools_with_the_same_rules_share_the_comparison_of_a_move(
    project: ReviewedProject, admin: Client
) -> None:
    project.rule("*", "deny", ("/name", "==", "Grace"))
    second = project.rule("*", "require_approval", ("/amount", ">", 7))
    for number in range(40):
        project.rule("*", "deny", ("/name", "in", [str(number), "Ada"]))
    names = [f"archive_user_{number}" for number in range(20)]
    ProjectTool.objects.bulk_create(
        ProjectTool(project=project.row, name=name, key=name, operation={}, fingerprint="")
        for name in names
    )
    compared: list[Step] = []
    is_laxer_than = Step.is_laxer_than

    def note_comparison(step: Step, other: Step) -> bool:
        compared.append(step)
        return is_laxer_than(step, other)

    with patch.object(Step, "is_laxer_than", note_comparison):
        asked = send(admin, page(project, f"/{second.pk}/move"), {"to": "up"})
    opened = [one.name for one in asked.context["opened"]]
    assert opened == sorted([READ, WRITE, REMOVE, *names])
    # Those that read share a comparison, and the others do: of the two rules, with no other rule.
    assert len(compared) == 2


def test_the_last_change_can_be_undone(project: ReviewedProject, admin: Client) -> None:
    approver = project.member("approver")
    rule = project.rule("delete_*", "deny", ("/name", "==", "Grace"), approver_roles=["admin"])
    rule.approvers.add(approver)
    project.rule("*", "require_approval")
    assert "Undo your last change" not in admin.get(page(project)).content.decode()
    confirm(admin, page(project, f"/{rule.pk}/delete"), {})
    assert "Undo your last change" in admin.get(page(project)).content.decode()
    other = browser_of(project.member("other", Role.ADMIN))
    assert "Undo your last change" not in other.get(page(project)).content.decode()
    assert admin.post(page(project, "/undo")).status_code == 302
    first, second = PolicyRule.objects.order_by("position")
    assert (first.pk, first.pattern, first.effect) == (rule.pk, "delete_*", "deny")
    assert ([*first.approvers.all()], first.approver_roles) == ([approver], ["admin"])
    assert first.conditions == rule.conditions
    assert second.pattern == "*"

    confirm(admin, page(project, f"/{rule.pk}/delete"), {})
    send(other, page(project), {"pattern": "list_*", "effect": "deny"})
    said = admin.post(page(project, "/undo"), follow=True).content.decode()
    assert "Nothing was undone: the policy has changed since." in said
    assert [*PolicyRule.objects.values_list("pattern", flat=True)] == ["*", "list_*"]


def test_a_rule_that_was_deleted_in_another_tab_is_said_to_be(
    project: ReviewedProject, admin: Client
) -> None:
    rule = project.rule("create_*", "require_approval")
    assert send(admin, page(project, f"/{rule.pk}/delete"), {}).status_code == 302
    again = admin.post(page(project, f"/{rule.pk}/delete"), follow=True)
    assert "The rule was already deleted." in again.content.decode()


def test_each_rule_says_how_many_tools_it_matches(project: ReviewedProject, admin: Client) -> None:
    project.rule("*_user", "require_approval")
    project.rule("delete_*", "deny")
    project.rule("stop_*", "deny")
    shown = " ".join(admin.get(page(project)).content.decode().split())
    never = "It decides about none: earlier rules without conditions match all of them."
    counts = re.findall(r"Matches (\d+) of (\d+) tools\.( It decides about none)?", shown)
    assert counts == [("2", "3", ""), ("1", "3", " It decides about none"), ("0", "3", "")]
    assert never in shown
    form = {"pattern": "list_*", "effect": "deny", "preview": "1"}
    previewed = " ".join(send(admin, page(project), form).content.decode().split())
    with_this = previewed.partition("With this rule")[2]
    assert "Matches 1 of 3 tools." in with_this.partition("Add a rule")[0]


def test_a_rule_is_previewed_with_the_calls_on_record(
    project: ReviewedProject, admin: Client
) -> None:
    project.call(READ, name="Ada")
    project.call(WRITE, name="Ada", amount=5)
    project.call(WRITE, name="Ada", amount=500)
    form = {"pattern": "create_*", "effect": "allow", "conditions": "/amount < 100", "preview": "1"}
    shown = " ".join(save(admin, page(project), form).content.decode().split())
    assert "Of the last 3 calls:" in shown
    assert "<code>create_user</code>: Require approval → Allow, <strong>1</strong>" in shown
    assert not PolicyRule.objects.exists()
    assert not SecurityEvent.objects.filter(kind="policy_changed").exists()


def test_what_cannot_be_saved_is_said_where_it_was_entered(
    project: ReviewedProject, admin: Client
) -> None:
    bad = {"pattern": "*", "effect": "allow", "conditions": "/a > x", "approvers": [7]}
    reply = save(admin, page(project), bad)
    assert reply.status_code == 400
    assert "Write text in quotes" in reply.content.decode()
    assert (
        save(admin, page(project), {"reads": "no"}, to=page(project, "/defaults")).status_code
        == 400
    )
    assert not PolicyRule.objects.exists()


def test_only_admins_of_the_organization_see_a_policy(
    project: ReviewedProject, admin: Client
) -> None:
    rule = project.rule("*", "allow")
    member, url = browser_of(project.member("member")), page(project)
    assert member.get(url).status_code == 404
    assert Client().get(url).status_code == 302
    assert member.post(page(project, f"/{rule.pk}/delete")).status_code == 404
    assert admin.get("/projects/prj_unknown/policy").status_code == 404
    other = Project.objects.create(
        organization=project.grant.organization, name="Other", target_url="x"
    )
    assert admin.get(f"/projects/{other.pk}/policy/{rule.pk}").status_code == 404
    assert PolicyRule.objects.exists()


def test_groups_of_approvers_are_offered_where_there_are_some(
    project: ReviewedProject, admin: Client
) -> None:
    field = 'name="approver_groups"'
    assert field not in admin.get(page(project)).content.decode()
    given = {"pattern": "*", "effect": "deny", "approver_roles": ["admin"]}
    assert confirm(admin, page(project), given) == []
    group = ApproverGroup.objects.create(organization=project.grant.organization, name="Finance")
    assert field in admin.get(page(project)).content.decode()
    rule = {**given, "effect": "require_approval", "approver_groups": [str(group.pk)]}
    confirm(admin, page(project), rule)
    assert [*PolicyRule.objects.get(effect="require_approval").approver_groups.all()] == [group]
