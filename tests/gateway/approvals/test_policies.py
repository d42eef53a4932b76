"""Policies: which rule decides about a call, and the page on which they are changed."""

from typing import Any

import pytest
from django.test import Client

from audit.models import SecurityEvent
from gateway import policies
from gateway.models import PolicyRule, Project
from gateway.rules import conditions
from tests.drivers.billing import browser_of
from tests.drivers.reviewed_project import READ, REMOVE, WRITE, ReviewedProject
from workspace.models import Role

GIVEN = {"amount": 5, "flag": True, "region": "eu-1", "list": [{"a/b~c": 1.0}], "none": None}


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
    assert conditions.parse(conditions.written([condition.as_json()])) == [condition]


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
    always = [
        policies.is_always_denied(project.row.pk, one, is_read=False) for one in (WRITE, REMOVE)
    ]
    assert always == [False, True]
    Project.objects.update(reads="deny")
    assert project.call(READ).error["message"] == "Denied by policy"


def test_a_stored_rule_that_cannot_be_read_denies_what_it_names(project: ReviewedProject) -> None:
    project.rule("create_*", "allow", ("amount", "~", 1))
    assert project.call().error["message"] == "Denied by policy"
    assert policies.decide("prj_unknown", READ, {}, is_read=True).effect == "deny"


def page(project: ReviewedProject, rest: str = "") -> str:
    return f"/projects/{project.row.pk}/policy{rest}"


@pytest.fixture
def admin(project: ReviewedProject) -> Client:
    return browser_of(project.member("boss", Role.ADMIN))


def test_an_admin_adds_orders_changes_and_deletes_rules(
    project: ReviewedProject, admin: Client
) -> None:
    approver = project.member("approver")
    form: dict[str, Any] = {"pattern": "create_*", "effect": "require_approval"}
    given = {**form, "conditions": "/amount > 100", "approvers": [approver.pk]}
    assert admin.post(page(project), given).status_code == 302
    assert admin.post(page(project), {"pattern": "*", "effect": "allow"}).status_code == 302
    first, second = PolicyRule.objects.all()
    assert [*first.approvers.all()] == [approver]
    assert first.conditions == [{"pointer": "/amount", "operator": ">", "value": 100}]
    shown = admin.get(page(project, f"/{first.pk}")).content.decode()
    assert "/amount &gt; 100" in shown
    assert approver.email in shown
    assert project.call().result["content"][0]["text"] == "made Ada"

    assert admin.post(page(project, f"/{second.pk}/move"), {"to": "up"}).status_code == 302
    assert [*PolicyRule.objects.values_list("pattern", flat=True)] == ["*", "create_*"]
    changed = {"pattern": "*", "effect": "deny", "approver_roles": ["admin"]}
    assert admin.post(page(project, f"/{second.pk}"), changed).status_code == 302
    assert project.call().error["message"] == "Denied by policy"
    assert admin.post(page(project, f"/{second.pk}/delete")).status_code == 302
    project.request(WRITE, name="Eve", amount=101)
    defaults = {"reads": "deny", "writes": "allow", "approval_minutes": 5, "self_approval": "on"}
    assert admin.post(page(project, "/defaults"), defaults).status_code == 302
    assert project.call(READ).error["message"] == "Denied by policy"

    events = SecurityEvent.objects.filter(kind="policy_changed", subject=project.row.pk)
    assert sum(event.count for event in events) == 6
    assert "changed 1. * 0 conditions: allow to 1. * 0 conditions: deny" in {
        event.detail for event in events
    }


def test_a_rule_is_previewed_with_the_calls_on_record(
    project: ReviewedProject, admin: Client
) -> None:
    project.call(READ, name="Ada")
    project.call(WRITE, name="Ada", amount=5)
    project.call(WRITE, name="Ada", amount=500)
    form = {"pattern": "create_*", "effect": "allow", "conditions": "/amount < 100", "preview": "1"}
    shown = " ".join(admin.post(page(project), form).content.decode().split())
    assert "Of the last 3 calls:" in shown
    assert "<code>create_user</code>: Require approval → Allow, <strong>1</strong>" in shown
    assert not PolicyRule.objects.exists()
    assert not SecurityEvent.objects.filter(kind="policy_changed").exists()


def test_what_cannot_be_saved_is_said_where_it_was_entered(
    project: ReviewedProject, admin: Client
) -> None:
    bad = {"pattern": "*", "effect": "allow", "conditions": "/a > x", "approvers": [7]}
    reply = admin.post(page(project), bad)
    assert reply.status_code == 400
    assert "Write text in quotes" in reply.content.decode()
    assert admin.post(page(project, "/defaults"), {"reads": "no"}).status_code == 400
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
