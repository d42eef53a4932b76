"""Changes of a project's policy, each saved at once and recorded, and their preview."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from audit import usage
from foundation import ids
from gateway import policies, projects
from gateway.models import ApproverGroup, Effect, PolicyRule, Project, ProjectTool
from gateway.policies import CompiledRule, ProjectPolicy
from gateway.rules import conditions
from gateway.rules.conditions import ArgumentCondition
from workspace.models import User

MAX_RULES: Final = 200
MAX_REPLAYED: Final = 1_000


# What a snapshot has of the project and of each rule.
DEFAULTS: Final = ("reads", "writes", "self_approval", "approval_minutes")
COLUMNS: Final = ("pattern", "conditions", "effect", "approver_roles")


class PolicyChanged(Exception):
    """The policy is not as it was left."""


class TooManyRules(Exception):
    """The policy has as many rules as it may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleFacts:
    """What a person enters for a rule."""

    pattern: str
    conditions: Sequence[ArgumentCondition]
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


def describe_rules(rules: Iterable[PolicyRule]) -> str:
    """Returns everything that rules say, a line each, in their order."""
    return "\n".join(json.dumps(_read_facts(rule)) for rule in rules)


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
        _record(project, by, f"added {_describe_rule(rule)}")
    return rule


def change(rule: PolicyRule, facts: RuleFacts, by: Editor) -> None:
    """Replaces what a rule says. Raises DoesNotExist if it was deleted meanwhile."""
    with transaction.atomic():
        _lock(rule.project)
        rule = PolicyRule.objects.select_related("project").get(pk=rule.pk)
        before = _describe_rule(rule)
        _fill(rule, facts)
        after = _describe_rule(rule)
        if after != before:
            _record(rule.project, by, f"changed {before} to {after}")


def delete(rule: PolicyRule, by: Editor) -> None:
    """Deletes a rule. Raises DoesNotExist if it was deleted meanwhile."""
    project = rule.project
    with transaction.atomic():
        _lock(project)
        rule = PolicyRule.objects.get(pk=rule.pk)
        described = _describe_rule(rule)
        rule.delete()
        _renumber(rules_of(project))
        _record(project, by, f"deleted {described}")


def move(rule: PolicyRule, steps: int, by: Editor) -> None:
    """Moves a rule up (-1) or down (1) in the order."""
    with transaction.atomic():
        _lock(rule.project)
        before = rules_of(rule.project)
        rows = reorder(before, rule, steps)
        if rows != before:
            _renumber(rows)
            place = rows.index(rule)
            _record(rule.project, by, f"moved {_describe_rule(rows[place])} to {place + 1}")


def reorder(rules: Sequence[PolicyRule], rule: PolicyRule, steps: int) -> list[PolicyRule]:
    """Returns the rules with one of them moved; as they are if it cannot be moved so far."""
    rows = [*rules]
    place = rows.index(rule) if rule in rows else -1
    if place >= 0 and 0 <= place + steps < len(rows):
        rows.insert(place + steps, rows.pop(place))
    return rows


def set_defaults(project: Project, by: Editor, **values: Any) -> None:
    """Sets what happens to calls that no rule matches, and how requests are decided."""
    with transaction.atomic():
        row = Project.objects.select_for_update().get(pk=project.pk)
        changed = {name: value for name, value in values.items() if getattr(row, name) != value}
        if not changed:
            return
        Project.objects.filter(pk=row.pk).update(**changed, updated_at=timezone.now())
        before = {name: getattr(row, name) for name in changed}
        _record(project, by, f"set {projects.differing(before, changed)}")


def snapshot(project: Project) -> dict[str, Any]:
    """Returns the rules in their order and the defaults as JSON, for `restore`."""
    defaults = Project.objects.filter(pk=project.pk).values(*DEFAULTS).get()
    rules = [
        {
            **{name: getattr(rule, name) for name in COLUMNS},
            "id": str(rule.pk),
            "approvers": sorted(str(one.pk) for one in rule.approvers.all()),
            "approver_groups": sorted(str(one.pk) for one in rule.approver_groups.all()),
        }
        for rule in rules_of(project)
    ]
    return {"defaults": defaults, "rules": rules}


def digest(policy: Mapping[str, Any]) -> str:
    """Returns what is equal for equal snapshots."""
    return ids.sha256_hex(json.dumps(policy, sort_keys=True))


def restore(project: Project, before: Mapping[str, Any], left: str, by: Editor) -> None:
    """Makes the policy what a snapshot has.

    Raises PolicyChanged unless it is as it was `left`, and if a group of approvers is gone.
    """
    with transaction.atomic():
        _lock(project)
        if digest(snapshot(project)) != left:
            raise PolicyChanged
        Project.objects.filter(pk=project.pk).update(**before["defaults"])
        kept = [UUID(rule["id"]) for rule in before["rules"]]
        PolicyRule.objects.filter(project=project).exclude(pk__in=kept).delete()
        for position, rule in enumerate(before["rules"]):
            _restore_rule(project, position, rule)
        _record(project, by, "undid the last change")


def with_rule(policy: ProjectPolicy, facts: RuleFacts, rule_id: UUID | None) -> ProjectPolicy:
    """Returns the policy as it would be with this rule: in the place of one, or at the end."""
    made = CompiledRule(rule_id, facts.pattern, facts.conditions, facts.effect)
    if rule_id is None:
        return replace(policy, rules=[*policy.rules, made])
    return replace(policy, rules=[made if one.id == rule_id else one for one in policy.rules])


def replay(project: Project, policy: ProjectPolicy, other: ProjectPolicy) -> Replay:
    """Returns what a policy would have done with the newest calls, and another does otherwise.

    Arguments that were too long to be recorded are missing, and their conditions do not hold.
    """
    surface = policies.PROJECT_SURFACES.name_of(project.pk)
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


def is_as_entered(rule: PolicyRule, facts: RuleFacts) -> bool:
    """Returns whether a rule says what a person entered."""
    return (
        rule.pattern == facts.pattern
        and rule.effect == facts.effect
        and rule.conditions == [one.as_json() for one in facts.conditions]
        and {*rule.approvers.all()} == {*facts.approvers}
        and {*rule.approver_groups.all()} == {*facts.approver_groups}
        and {*rule.approver_roles} == {*facts.approver_roles}
    )


def _fill(rule: PolicyRule, facts: RuleFacts) -> None:
    rule.pattern, rule.effect = facts.pattern, facts.effect
    rule.conditions = [one.as_json() for one in facts.conditions]
    rule.approver_roles = list(facts.approver_roles)
    rule.save()
    rule.approvers.set(facts.approvers)
    rule.approver_groups.set(facts.approver_groups)


def _restore_rule(project: Project, position: int, rule: Mapping[str, Any]) -> None:
    columns = {name: rule[name] for name in COLUMNS}
    row, _is_new = PolicyRule.objects.update_or_create(
        pk=UUID(rule["id"]), project=project, defaults={"position": position, **columns}
    )
    # A person may be gone, or have left the organization.
    members = User.objects.filter(memberships__organization=project.organization_id)
    row.approvers.set(members.filter(pk__in=rule["approvers"]).distinct())
    groups = ApproverGroup.objects.filter(
        organization=project.organization_id, pk__in=rule["approver_groups"]
    )
    if len(groups) < len(rule["approver_groups"]):
        raise PolicyChanged  # a rule without its groups may leave its requests to others
    row.approver_groups.set(groups)


def _lock(project: Project) -> None:
    """Makes changes of one policy wait for each other; tools are read again after the commit."""
    Project.objects.filter(pk=project.pk).update(updated_at=timezone.now())


def _renumber(rows: Sequence[PolicyRule]) -> None:
    for position, row in enumerate(rows):
        if row.position != position:
            PolicyRule.objects.filter(pk=row.pk).update(position=position)


def _describe_rule(rule: PolicyRule) -> str:
    """The place of a rule and everything that it says, for the record of its changes."""
    return f"{rule.position + 1}. {json.dumps(_read_facts(rule))}"


def _read_facts(rule: PolicyRule) -> dict[str, Any]:
    said = {
        "tools": rule.pattern,
        "conditions": conditions.to_text(rule.conditions).splitlines(),
        "effect": rule.effect,
        "approvers": sorted(person.email for person in rule.approvers.all()),
        "approver_groups": sorted(group.name for group in rule.approver_groups.all()),
        "approver_roles": rule.approver_roles,
    }
    return {name: value for name, value in said.items() if value}


def _record(project: Project, by: Editor, detail: str) -> None:
    projects.record_change("policy_changed", project, by.user, by.address, detail)
