"""Which tools a change of a policy lets run with less than before: at once, or with an approval.

An approval that more people may give, or the requester, is less as well.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product, takewhile
from typing import Final, TypeAlias
from uuid import UUID

from django.utils.translation import gettext as _

from gateway import policies
from gateway.models import Effect, Project, ProjectTool
from gateway.policies import ProjectPolicy
from gateway.rules import editing
from gateway.rules.conditions import ArgumentCondition

STRICTNESS: Final[Mapping[Effect, int]] = {
    Effect.ALLOW: 0,
    Effect.REQUIRE_APPROVAL: 1,
    Effect.DENY: 2,
}


@dataclass(frozen=True, slots=True)
class Step:
    """What decides about a call for which the conditions hold, and by whom it is approved."""

    conditions: Sequence[ArgumentCondition]
    effect: Effect
    approvers: frozenset[str] = frozenset()

    def is_laxer_than(self, other: "Step") -> bool:
        if self.effect == other.effect:
            return not self.approvers <= other.approvers
        return STRICTNESS[self.effect] < STRICTNESS[other.effect]


# Of the calls of one tool, in order; the last step has no conditions.
Steps: TypeAlias = Sequence[Step]
OFF: Final[Steps] = (Step((), Effect.DENY),)


@dataclass(frozen=True, slots=True)
class ToolSteps:
    """What decides about the calls of one tool."""

    is_read: bool
    steps: Steps


@dataclass(frozen=True, slots=True)
class OpenedTool:
    """A tool whose calls may run with less: the strictest effect before, and the least after.

    `approvers` may approve its calls, and could not before.
    """

    name: str
    is_read: bool
    before: Effect
    after: Effect
    approvers: Sequence[str]


def read_tool_steps(project: Project) -> Mapping[str, ToolSteps]:
    """Returns what decides about the calls of each tool now, by its name."""
    policy, approvers = policies.read(project.pk), _approvers_of_rules(project)
    rows = ProjectTool.objects.filter(project=project, is_present=True).order_by("name")
    steps = {
        rule.id: _to_step(approvers[rule.id], rule.conditions, rule.effect) for rule in policy.rules
    }
    defaults = {
        is_read: _to_step(approvers[None], (), policy.reads if is_read else policy.writes)
        for is_read in (True, False)
    }
    found = {}
    for name, is_read, is_enabled in rows.values_list("name", "is_read", "is_enabled"):
        # Reading is opened by the policy alone: a switched-off tool counts as one that is on.
        is_open = is_enabled or is_read
        decisive = _steps_of(policy, steps, defaults[is_read], name)
        found[name] = ToolSteps(is_read, decisive if is_open else OFF)
    return found


def opened_tools(
    before: Mapping[str, ToolSteps], after: Mapping[str, ToolSteps]
) -> list[OpenedTool]:
    """Returns the tools of which a call may run with less than before, in the order of names.

    Conditions are not compared: a tool may be named although no call of it is treated otherwise,
    but none is left out.
    """
    found = []
    # Tools with the same steps share one comparison. A step is one object for all tools, and a
    # condition may hold a list, so a step stands under its id.
    compared: dict[tuple[tuple[int, ...], ...], list[tuple[Step, Step]]] = {}
    for name, new in after.items():
        old = before.get(name, new)
        key = (tuple(map(id, old.steps)), tuple(map(id, new.steps)))
        if key not in compared:
            compared[key] = _opened_steps(old.steps, new.steps)
        if pairs := compared[key]:
            strictest = max((one.effect for one, _step in pairs), key=STRICTNESS.__getitem__)
            least = min((one.effect for _step, one in pairs), key=STRICTNESS.__getitem__)
            more = {each for was, now in pairs for each in now.approvers - was.approvers}
            found.append(OpenedTool(name, old.is_read, strictest, least, sorted(more)))
    return found


@dataclass(frozen=True, slots=True)
class RuleReach:
    """How many of a project's tools a rule matches, and how many of them it decides about.

    It decides about none that an earlier rule without conditions matches.
    """

    matched: int
    decided: int
    tools: int


def reaches(
    project: Project, policy: ProjectPolicy | None = None
) -> Mapping[UUID | None, RuleReach]:
    """Returns the reach of each rule of the present policy or another, by the rule's id."""
    rows = ProjectTool.objects.filter(project=project, is_present=True)
    names = [*rows.values_list("name", flat=True)]
    undecided, found = set(names), {}
    for rule in (policy or policies.read(project.pk)).rules:
        matched = {name for name in names if rule.names(name)}
        found[rule.id] = RuleReach(len(matched), len(matched & undecided), len(names))
        if not rule.conditions:
            undecided -= matched
    return found


def _approvers_of_rules(project: Project) -> Mapping[UUID | None, frozenset[str]]:
    """Returns who may approve what each rule demands, by its id; of the defaults, by None."""
    is_own = Project.objects.filter(pk=project.pk, self_approval=True).exists()
    everywhere = {_("the requester")} if is_own else set()
    found: dict[UUID | None, frozenset[str]] = {
        None: frozenset({_("the owner of the project"), *everywhere})
    }
    for rule in editing.rules_of(project):
        named = {
            *(person.email for person in rule.approvers.all()),
            *(_("the group %s") % group.name for group in rule.approver_groups.all()),
            *(_("the role %s") % role for role in policies.with_super_admins(rule.approver_roles)),
        }
        found[rule.pk] = frozenset(named | everywhere) if named else found[None]
    return found


def _to_step(
    approvers: frozenset[str], conditions: Sequence[ArgumentCondition], effect: Effect
) -> Step:
    needs_approval = effect == Effect.REQUIRE_APPROVAL
    return Step(conditions, effect, approvers if needs_approval else frozenset())


def _steps_of(
    policy: ProjectPolicy, steps: Mapping[UUID | None, Step], default: Step, tool: str
) -> Steps:
    """Returns what decides about the calls of a tool, up to the first rule without conditions."""
    found: list[Step] = []
    for rule in policy.rules:
        if rule.names(tool):
            found.append(steps[rule.id])
            if not rule.conditions:
                return found
    return [*found, default]


def _opened_steps(old: Steps, new: Steps) -> list[tuple[Step, Step]]:
    """Returns the steps that a call may have passed before, each with a laxer one of now."""
    start = _count_equal(old, new)
    old, new = old[start:], new[start:]  # what the first steps decide is the same
    end = _count_equal(old[::-1], new[::-1])
    return [
        (was, now)
        for was, now in _changed_steps(
            old[: len(old) - end], new[: len(new) - end], old[len(old) - end :]
        )
        if now.is_laxer_than(was)
    ]


def _count_equal(old: Steps, new: Steps) -> int:
    """Returns how many steps at the beginning are the same."""
    pairs = zip(old, new, strict=False)
    return sum(1 for _pair in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _changed_steps(old: Steps, new: Steps, rest: Steps) -> Iterator[tuple[Step, Step]]:
    """Returns each two steps of which a call may pass the one before and the other now.

    `rest` follows in both. A call that reaches it before and now is treated the same, but a call
    may reach it only once.
    """
    if [one.conditions for one in old] == [one.conditions for one in new]:  # they decide otherwise
        yield from zip(old, new, strict=True)
    elif old and [*old[1:], old[0]] == [*new]:  # one step was moved down
        yield from ((old[0], each) for each in old[1:])
    elif new and [*new[1:], new[0]] == [*old]:  # one was moved up
        yield from ((each, new[0]) for each in new[1:])
    else:
        yield from product(old, [*new, *rest])
        yield from product(rest, new)
