"""Decides a call by the policy of its project: the first rule that matches, else the defaults.

A rule matches a tool by its pattern, in which `*` matches any characters, and the arguments by
its conditions, all of which have to hold. See docs/gateway.md, "Policies".
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import Q

from approvals.models import ApprovalRequest
from foundation import ids
from foundation.db.statements import Statement
from gateway.models import Effect, PolicyRule, Project
from gateway.rules import conditions
from gateway.rules.conditions import Condition
from workspace.administration.access import ADMINS
from workspace.models import User

# The family of the surfaces of projects, and what their names begin with.
FAMILY: Final = "gateway"
SURFACE_PREFIX: Final = f"{FAMILY}:"
ANY: Final = "*"
READ: Final = Statement("""
SELECT p.reads, p.writes, p.version, p.approval_minutes, r.id, r.pattern, r.conditions, r.effect
  FROM gateway_project p
  LEFT JOIN gateway_policyrule r ON r.project_id = p.id
 WHERE p.id = %s
 ORDER BY r.position, r.id
""")


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """What the policy says of a call, and the rule that says so; None for the defaults."""

    effect: Effect
    rule_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a policy, ready to be compared with calls."""

    id: UUID | None
    pattern: str
    conditions: Sequence[Condition]
    effect: Effect

    def names(self, tool: str) -> bool:
        return matches(self.pattern, tool)

    def holds(self, arguments: Mapping[str, Any]) -> bool:
        return all(each.holds(arguments) for each in self.conditions)


@dataclass(frozen=True, slots=True)
class Policy:
    """The policy of one project at one moment, with what an approval is bound to."""

    reads: Effect
    writes: Effect
    rules: Sequence[Rule] = ()
    version: int = 0
    approval_minutes: int = 0

    def decide(self, tool: str, arguments: Mapping[str, Any], *, is_read: bool) -> PolicyDecision:
        for rule in self.rules:
            if rule.names(tool) and rule.holds(arguments):
                return PolicyDecision(rule.effect, rule.id)
        return PolicyDecision(self.reads if is_read else self.writes)

    def is_always_denied(self, tool: str, *, is_read: bool) -> bool:
        """Returns whether every call of the tool is denied, whatever its arguments are."""
        for rule in self.rules:
            if not rule.names(tool):
                continue
            if rule.effect != Effect.DENY:
                return False
            if not rule.conditions:
                return True
        return (self.reads if is_read else self.writes) == Effect.DENY


DENIED: Final = Policy(Effect.DENY, Effect.DENY)


def read(project_id: str) -> Policy:
    """Returns the policy of a project, in one statement; an unknown project denies everything."""
    rows = READ.rows(project_id)
    if not rows:
        return DENIED
    reads, writes, version, minutes = rows[0][:4]
    rules = [_rule(*row[4:]) for row in rows if row[4] is not None]
    return Policy(Effect(reads), Effect(writes), rules, version, minutes)


def decide(
    project_id: str, tool: str, arguments: Mapping[str, Any], *, is_read: bool
) -> PolicyDecision:
    """Returns what the policy of a project says of a call now."""
    return read(project_id).decide(tool, arguments, is_read=is_read)


def is_always_denied(project_id: str, tool: str, *, is_read: bool) -> bool:
    """Returns whether the policy denies every call of a tool, whatever its arguments are."""
    return read(project_id).is_always_denied(tool, is_read=is_read)


def matches(pattern: str, name: str) -> bool:
    """Returns whether a name fits a pattern, in time proportional to the length of both."""
    first, *parts = pattern.split(ANY)
    if not parts:
        return pattern == name
    last = parts.pop()
    if len(name) < len(first) + len(last) or not name.startswith(first) or not name.endswith(last):
        return False
    position, end = len(first), len(name) - len(last)
    for part in parts:
        found = name.find(part, position, end)
        if found < 0:
            return False
        position = found + len(part)
    return True


def project_of(surface: str) -> str:
    """Returns the project id that is in the name of a surface, empty for other surfaces."""
    return surface.removeprefix(SURFACE_PREFIX) if surface.startswith(SURFACE_PREFIX) else ""


class Approvers:
    """Who decides the requests of projects: the approvers of the rule that requires the approval.

    An API may ignore an idempotency key, so no request is executed a second time.
    """

    may_repeat = False

    def may_decide(self, user: User, request: ApprovalRequest) -> bool:
        return may_decide(user, request)

    def may_approve_own(self, request: ApprovalRequest) -> bool:
        rows = Project.objects.filter(pk=project_of(request.surface))
        return bool(rows.values_list("self_approval", flat=True).first())


def may_decide(user: User, request: ApprovalRequest) -> bool:
    """Returns whether a member of the organization is an approver of the request now.

    Whether requesters approve their own requests is decided apart from this, except that they need
    not be approvers for it.
    """
    role = user.active_roles.get(request.organization_id)
    if role is None or not user.is_active:
        return False
    project = _project(request)
    if project is None:
        return False
    if project.self_approval and str(user.pk) == request.user_id:
        return True
    rule = _rule_of(request)
    if rule is None or not _names_approvers(rule):
        return _is_owner(user, role, project, request.user_id)
    named = PolicyRule.objects.filter(
        Q(approvers=user) | Q(approver_groups__members=user), pk=rule.pk
    )
    return role in rule.approver_roles or named.exists()


def approvers(request: ApprovalRequest) -> list[User]:
    """Returns everybody who may approve the request now, without its requester."""
    members = User.objects.filter(
        is_active=True, memberships__organization=request.organization_id
    ).exclude(pk=request.user_id)
    return [user for user in members.distinct().order_by("email") if may_decide(user, request)]


def _is_owner(user: User, role: str, project: Project, requester_id: str) -> bool:
    """Whether the user decides what no rule names an approver for.

    Without an owner who is still a member, the admins of the organization do, and also where the
    owner is the requester.
    """
    if project.owner_id == user.pk:
        return True
    if role not in ADMINS:
        return False
    owner = project.owner
    if owner is None or not owner.is_active or str(owner.pk) == requester_id:
        return True
    return project.organization_id not in owner.active_roles


def _project(request: ApprovalRequest) -> Project | None:
    rows = Project.objects.select_related("owner").filter(organization=request.organization_id)
    return rows.filter(pk=project_of(request.surface)).first()


def _rule_of(request: ApprovalRequest) -> PolicyRule | None:
    """The rule that matches the call of a request now."""
    tools = Project.objects.filter(pk=project_of(request.surface), tools__name=request.tool)
    is_read = bool(tools.values_list("tools__is_read", flat=True).first())
    decision = decide(project_of(request.surface), request.tool, request.arguments, is_read=is_read)
    return PolicyRule.objects.filter(pk=decision.rule_id).first() if decision.rule_id else None


def _names_approvers(rule: PolicyRule) -> bool:
    return bool(rule.approver_roles or rule.approvers.exists() or rule.approver_groups.exists())


def _rule(key: Any, pattern: str, stored: Any, effect: str) -> Rule:
    load: Callable[[Any], Any] = json.loads
    wanted = load(stored) if isinstance(stored, str | bytes) else stored
    try:
        parsed = [conditions.checked(one) for one in wanted]
    except conditions.InvalidCondition:
        # What the rule was meant to allow is unknown.
        return Rule(ids.from_row(key), pattern, (), Effect.DENY)
    return Rule(ids.from_row(key), pattern, parsed, Effect(effect))
