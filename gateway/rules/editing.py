"""Changes of a project's policy, each saved at once and recorded, and their preview."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from audit import record, usage
from gateway import policies
from gateway.models import ApproverGroup, Effect, PolicyRule, Project, ProjectTool
from gateway.policies import Policy, Rule
from gateway.rules.conditions import Condition
from workspace.models import User

MAX_RULES: Final = 200
MAX_REPLAYED: Final = 1_000


class TooManyRules(Exception):
    """The policy has as many rules as it may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleFacts:
    """What a person enters for a rule."""

    pattern: str
    conditions: Sequence[Condition]
    effect: Effect
    approvers: Iterable[User] = ()
    approver_groups: Iterable[ApproverGroup] = ()
    approver_roles: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Editor:
    """The person who changes a policy, and their address."""

    user: User
    address: str


@dataclass(frozen=True, slots=True)
class ReplayedCalls:
    """Calls of one tool that a changed policy would have treated in another way."""

    tool: str
    before: str
    after: str
    count: int


@dataclass(frozen=True, slots=True)
class Replay:
    """What a policy would have done with the newest calls; `changes` compare it with another."""

    calls: int
    effects: Mapping[str, int]
    changes: Sequence[ReplayedCalls]


def rules_of(project: Project) -> list[PolicyRule]:
    """Returns the rules in the order in which they are compared with a call."""
    rows = PolicyRule.objects.filter(project=project)
    return [*rows.prefetch_related("approvers", "approver_groups").order_by("position", "id")]


def add(project: Project, facts: RuleFacts, by: Editor) -> PolicyRule:
    """Adds a rule at the end. Raises TooManyRules."""
    with transaction.atomic():
        _lock(project)
        position = PolicyRule.objects.filter(project=project).count()
        if position >= MAX_RULES:
            raise TooManyRules
        rule = PolicyRule(project=project, position=position)
        _fill(rule, facts)
        _renumber(rules_of(project))
        _record(project, by, f"added {_named(rule)}")
    return rule


def change(rule: PolicyRule, facts: RuleFacts, by: Editor) -> None:
    """Replaces what a rule says. Raises DoesNotExist if it was deleted meanwhile."""
    with transaction.atomic():
        _lock(rule.project)
        rule = PolicyRule.objects.select_related("project").get(pk=rule.pk)
        before = _named(rule)
        _fill(rule, facts)
        _record(rule.project, by, f"changed {before} to {_named(rule)}")


def delete(rule: PolicyRule, by: Editor) -> None:
    project, name = rule.project, _named(rule)
    with transaction.atomic():
        _lock(project)
        rule.delete()
        _renumber(rules_of(project))
        _record(project, by, f"deleted {name}")


def move(rule: PolicyRule, steps: int, by: Editor) -> None:
    """Moves a rule up (-1) or down (1) in the order."""
    with transaction.atomic():
        _lock(rule.project)
        rows = rules_of(rule.project)
        here = next((i for i, row in enumerate(rows) if row.pk == rule.pk), None)
        if here is None or not 0 <= here + steps < len(rows):
            return
        rows.insert(here + steps, rows.pop(here))
        _renumber(rows)
        _record(rule.project, by, f"moved {_named(rule)} to {here + steps + 1}")


def set_defaults(project: Project, by: Editor, **values: Any) -> None:
    """Sets what happens to calls that no rule matches, and how requests are decided."""
    with transaction.atomic():
        row = Project.objects.select_for_update().get(pk=project.pk)
        changed = {name: value for name, value in values.items() if getattr(row, name) != value}
        if not changed:
            return
        Project.objects.filter(pk=row.pk).update(**changed, updated_at=timezone.now())
        words = ", ".join(f"{name} = {value}" for name, value in changed.items())
        _record(project, by, f"set {words}")


def with_rule(policy: Policy, facts: RuleFacts, rule_id: UUID | None) -> Policy:
    """Returns the policy as it would be with this rule: in the place of one, or at the end."""
    made = Rule(rule_id, facts.pattern, facts.conditions, facts.effect)
    if rule_id is None:
        return replace(policy, rules=[*policy.rules, made])
    return replace(policy, rules=[made if one.id == rule_id else one for one in policy.rules])


def replay(project: Project, policy: Policy, other: Policy) -> Replay:
    """Returns what a policy would have done with the newest calls, and another does otherwise.

    Arguments that were too long to be recorded are missing, and their conditions do not hold.
    """
    surface = f"{policies.SURFACE_PREFIX}{project.pk}"
    calls = usage.arguments_of_calls(project.organization_id, surface, limit=MAX_REPLAYED)
    tools = ProjectTool.objects.filter(project=project)
    is_read = dict(tools.values_list("name", "is_read"))
    effects: Counter[str] = Counter()
    changes: Counter[tuple[str, str, str]] = Counter()
    known = [(tool, arguments) for tool, arguments in calls if tool in is_read]
    for tool, arguments in known:
        before, after = (
            each.decide(tool, arguments, is_read=is_read[tool]).effect for each in (policy, other)
        )
        effects[str(after.label)] += 1
        if before != after:
            changes[tool, str(before.label), str(after.label)] += 1
    rows = [ReplayedCalls(*key, count) for key, count in changes.most_common()]
    return Replay(len(known), dict(effects), rows)


def _fill(rule: PolicyRule, facts: RuleFacts) -> None:
    rule.pattern, rule.effect = facts.pattern, facts.effect
    rule.conditions = [one.as_json() for one in facts.conditions]
    rule.approver_roles = list(facts.approver_roles)
    rule.save()
    rule.approvers.set(facts.approvers)
    rule.approver_groups.set(facts.approver_groups)


def _lock(project: Project) -> None:
    """Makes changes of one policy wait for each other; tools are read again after the commit."""
    Project.objects.filter(pk=project.pk).update(updated_at=timezone.now())


def _renumber(rows: Sequence[PolicyRule]) -> None:
    for position, row in enumerate(rows):
        if row.position != position:
            PolicyRule.objects.filter(pk=row.pk).update(position=position)


def _named(rule: PolicyRule) -> str:
    return f"{rule.position + 1}. {rule.pattern} {len(rule.conditions)} conditions: {rule.effect}"


def _record(project: Project, by: Editor, detail: str) -> None:
    record.security_event(
        "policy_changed",
        address=by.address,
        subject=project.pk,
        organization_id=str(project.organization_id),
        user_id=str(by.user.pk),
        detail=detail,
    )
