"""Decides a call by the policy of its project: the first rule that matches, else the defaults.

A rule matches a tool by its pattern, in which `*` matches any characters, and the arguments by
its conditions, all of which have to hold. See docs/gateway.md, "Policies".
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import Q

from approvals import deciders
from approvals.models import ApprovalRequest
from foundation import ids
from foundation.db.statements import Statement
from gateway.models import ApproverGroup, Effect, PolicyRule, Project
from gateway.rules import conditions
from gateway.rules.conditions import ArgumentCondition
from tools_registry.pipeline.surfaces import SurfaceFamily
from workspace.administration.access import ADMINS
from workspace.models import ACTIVE_MEMBERSHIP, Membership, Role, User

PROJECT_SURFACES: Final = SurfaceFamily("gateway")
ANY: Final = "*"
# Of those who may approve a request, how many are named to its requester, and how much of a name.
MAX_NAMED: Final = 3
MAX_NAME: Final = 80
READ: Final = Statement("""
SELECT p.reads, p.writes, p.version, p.approval_minutes, r.id, r.pattern, r.conditions, r.effect
  FROM gateway_project p
  LEFT JOIN gateway_policyrule r ON r.project_id = p.id
 WHERE p.id = %s
 ORDER BY r.position, r.id
""")


class RuleGone(Exception):
    """The rule that decided a call was deleted after the policy was read."""


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """What the policy says of a call, and the rule that says so; None for the defaults."""

    effect: Effect
    rule_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """One line of a policy, ready to be compared with calls."""

    id: UUID | None
    pattern: str
    conditions: Sequence[ArgumentCondition]
    effect: Effect

    @property
    def text(self) -> str:
        """What the rule says of calls, on lines."""
        written = conditions.to_text([one.as_json() for one in self.conditions])
        return "\n".join([self.pattern, *written.splitlines()])

    def names(self, tool: str) -> bool:
        return matches(self.pattern, tool)

    def holds(self, arguments: Mapping[str, Any]) -> bool:
        return all(each.holds(arguments) for each in self.conditions)


@dataclass(frozen=True, slots=True)
class ProjectPolicy:
    """The policy of one project at one moment, with what an approval is bound to."""

    reads: Effect
    writes: Effect
    rules: Sequence[CompiledRule] = ()
    version: int = 0
    approval_minutes: int = 0

    def decide(self, tool: str, arguments: Mapping[str, Any], *, is_read: bool) -> PolicyDecision:
        for rule in self.rules:
            if rule.names(tool) and rule.holds(arguments):
                return PolicyDecision(rule.effect, rule.id)
        return PolicyDecision(self.reads if is_read else self.writes)

    def reachable_effects(self, tool: str, *, is_read: bool) -> frozenset[Effect]:
        """Returns the effects that calls of the tool have, each with some arguments.

        They end with the first rule that holds for all arguments, else with the default.
        """
        effects = set[Effect]()
        for rule in self.rules:
            if rule.names(tool):
                effects.add(rule.effect)
                if not rule.conditions:
                    return frozenset(effects)
        return frozenset({*effects, self.reads if is_read else self.writes})


DENIED: Final = ProjectPolicy(Effect.DENY, Effect.DENY)


def read(project_id: str) -> ProjectPolicy:
    """Returns the policy of a project, in one statement; an unknown project denies everything."""
    rows = READ.rows(project_id)
    if not rows:
        return DENIED
    reads, writes, version, minutes = rows[0][:4]
    rules = [_rule(*row[4:]) for row in rows if row[4] is not None]
    return ProjectPolicy(Effect(reads), Effect(writes), rules, version, minutes)


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


@dataclass(frozen=True, slots=True)
class _Deciders:
    """Who decides a request, of the members of its organization: by their roles and their ids."""

    roles: Collection[str] = frozenset()
    people: Collection[UUID] = frozenset()

    def includes(self, user_id: UUID, role: str) -> bool:
        return role in self.roles or user_id in self.people


class Approvers:
    """Who decides the requests of projects: the approvers of the rule that requires the approval.

    An API may ignore an idempotency key, so no request is executed a second time.
    """

    may_repeat = False

    def may_decide(self, user: User, request: ApprovalRequest) -> bool:
        return may_decide(user, request)

    def list_deciders(self, request: ApprovalRequest) -> list[User]:
        return list_deciders(request)

    def may_approve_own(self, request: ApprovalRequest) -> bool:
        project = _project(request)
        return project is not None and _allows_own(project, request)


def kept_rule(project_id: str, policy: ProjectPolicy, decision: PolicyDecision) -> dict[str, Any]:
    """Returns what a request keeps of the rule that demands it, as JSON.

    So no later edit of the policy changes who may decide an open request. Members of a role and of
    a group are those of the moment of the decision. Raises RuleGone.
    """
    row = PolicyRule.objects.filter(pk=decision.rule_id).first() if decision.rule_id else None
    if decision.rule_id and row is None:
        raise RuleGone
    found = next((one for one in policy.rules if one.id == decision.rule_id), None)
    own = Project.objects.filter(pk=project_id).values_list("self_approval", flat=True).first()
    return {
        "text": found.text if found and decision.rule_id else "",
        "effect": decision.effect.value,
        "approvers": sorted(str(user.pk) for user in row.approvers.all()) if row else [],
        "groups": sorted(str(group.pk) for group in row.approver_groups.all()) if row else [],
        "roles": list(row.approver_roles) if row else [],
        "self_approval": bool(own),
    }


def may_decide(user: User, request: ApprovalRequest) -> bool:
    """Returns whether a member of the organization is an approver of the request now.

    Whether requesters approve their own requests is decided apart from this, except that they need
    not be approvers for it.
    """
    role = user.active_roles.get(request.organization_id)
    if role is None or not user.is_active:
        return False
    return _deciders(request).includes(user.pk, role)


def list_deciders(request: ApprovalRequest) -> list[User]:
    """Returns the members of the organization who may decide the request now, by address."""
    named = _deciders(request)
    rows = Membership.objects.filter(
        Q(role__in=named.roles) | Q(user__in=named.people),
        ACTIVE_MEMBERSHIP,
        organization=request.organization_id,
        user__is_active=True,
        user__is_program=False,
    )
    return [row.user for row in rows.select_related("user").order_by("user__email")]


def is_only_decider(owner: User, organization_id: UUID) -> bool:
    """Returns whether the owner of a project that has no rules is the only one who decides.

    Nobody could approve their requests then, unless requesters approve their own.
    """
    others = Membership.objects.filter(
        ACTIVE_MEMBERSHIP,
        organization=organization_id,
        role__in=ADMINS,
        user__is_active=True,
        user__is_program=False,
    )
    return not others.exclude(user=owner).exists()


def approvers(request: ApprovalRequest) -> list[User]:
    """Returns everybody who may approve the request now, without its requester."""
    requester = deciders.find_requester(request)
    return [user for user in list_deciders(request) if str(user.pk) != requester]


def describe_approvers(request: ApprovalRequest) -> str:
    """Returns who may approve the request now: their names and addresses, and how many others.

    Empty if there is no such person.
    """
    requester = deciders.find_requester(request)
    named = [_full_name(user) for user in approvers(request)]
    if len(named) > MAX_NAMED:
        left = len(named) - MAX_NAMED
        named = [*named[:MAX_NAMED], f"{left} other member{'s' if left > 1 else ''}"]
    if any(str(user.pk) == requester for user in list_deciders(request)):
        project = _project(request)
        if project is not None and _allows_own(project, request):
            named.append("the requester")
    *first, last = named or [""]
    return f"{', '.join(first)} or {last}" if first else last


def _full_name(user: User) -> str:
    # On one line: its owner has written it, and a model reads it.
    name = "".join(c for c in " ".join(user.name.split())[:MAX_NAME] if c.isprintable())
    return f"{name} ({user.email})" if name else user.email


def _deciders(request: ApprovalRequest) -> _Deciders:
    """Those whom the rule names that the request keeps; if it names nobody, the owner."""
    project, rule = _project(request), request.rule
    if project is None:
        return _Deciders()
    people = {*_own_people(request)} if _allows_own(project, request) else set()
    if rule is None:
        # Made before requests kept their rules: those who write the rules decide.
        return _Deciders(ADMINS, people)
    if not (rule["approvers"] or rule["groups"] or rule["roles"]):
        owner = {project.owner_id} if project.owner_id else set()
        roles = frozenset() if _has_owner(project, request.user_id) else ADMINS
        return _Deciders(roles, people | owner)
    if rule["groups"]:
        groups = ApproverGroup.objects.filter(pk__in=rule["groups"], members__isnull=False)
        people |= {*groups.values_list("members", flat=True)}
    return _Deciders(
        with_super_admins(rule["roles"]), people | {UUID(one) for one in rule["approvers"]}
    )


def with_super_admins(roles: Collection[str]) -> Collection[str]:
    """Returns the roles whose members decide: super admins decide what admins do."""
    return {*roles, *ADMINS} if Role.ADMIN in roles else roles


def _own_people(request: ApprovalRequest) -> Iterator[UUID]:
    """The person whose request it is; of an erased person the id is gone."""
    with suppress(ValueError):
        yield UUID(deciders.find_requester(request))


def _has_owner(project: Project, requester_id: str) -> bool:
    """Whether the owner decides alone: they are still a member, and not the requester.

    Else the admins of the organization decide too.
    """
    owner = project.owner
    if owner is None or not owner.is_active or str(owner.pk) == requester_id:
        return False
    return project.organization_id in owner.active_roles


def _project(request: ApprovalRequest) -> Project | None:
    rows = Project.objects.select_related("owner").filter(organization=request.organization_id)
    return rows.filter(pk=PROJECT_SURFACES.key_of(request.surface)).first()


def _allows_own(project: Project, request: ApprovalRequest) -> bool:
    """Whether requesters approve their own: it was so when the request was made, and is so now."""
    return project.self_approval and bool(request.rule and request.rule["self_approval"])


def _rule(key: Any, pattern: str, stored: Any, effect: str) -> CompiledRule:
    load: Callable[[Any], Any] = json.loads
    wanted = load(stored) if isinstance(stored, str | bytes) else stored
    try:
        parsed = [conditions.from_json(one) for one in wanted]
    except conditions.InvalidCondition:
        # What the rule was meant to allow is unknown.
        return CompiledRule(ids.from_row(key), pattern, (), Effect.DENY)
    return CompiledRule(ids.from_row(key), pattern, parsed, Effect(effect))


def count_owned(membership: Membership) -> int:
    """Returns how many projects of the organization a member owns."""
    place, owner = membership.organization_id, membership.user_id
    return Project.objects.filter(organization=place, owner=owner).count()


def count_rules_of_approver(membership: Membership) -> int:
    """Returns how many rules of policies in the organization name a member as an approver."""
    rows = PolicyRule.objects.filter(project__organization=membership.organization_id)
    return rows.filter(approvers=membership.user_id).count()
