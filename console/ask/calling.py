"""A call by a signed-in person: their principal, what they may call, its limits, and its outcome.

The call runs in the pipeline like every other. Its surface offers what `/api/mcp` offers, with one
more layer: only tools that change nothing. Why: docs/decisions/0053-calls-of-people.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from audit import record
from audit.outcomes import ActorKind
from audit.record import Actor
from foundation import ids, limits
from foundation.concurrency.concurrency_limit import ConcurrencyLimit, ConcurrencyLimitReached
from foundation.limits import Bucket, Verdict
from oauth import memberships
from oauth.principal import Principal
from tools_registry import registry
from tools_registry.api import Arguments, Result, Tool, ToolFailure
from tools_registry.endpoint import rates
from tools_registry.pipeline import calls, gate, visibility
from tools_registry.pipeline.invocation import (
    ApprovalPending,
    Failed,
    Invocation,
    NeedsInput,
    Outcome,
    RefusedCall,
    Succeeded,
    Surface,
    TokenEnded,
)

# No approved request runs anything on this surface: `approvable` is empty.
SURFACE: Final = Surface(
    name="console",
    credentials={memberships.MEMBERSHIP: memberships.VERIFIER},
    catalogue=registry.WORKSPACE_CATALOGUE,
    layers=gate.READ_ONLY_LAYERS,
    approvable=frozenset(),
)
# The groups of tools without an integration, by scope, in the order of the list.
GROUPS: Final = {
    "data:read": gettext_lazy("Organization data"),
    "docs:read": gettext_lazy("Documentation"),
    "setup:read": gettext_lazy("Setup"),
}
STATUSES: Final = {
    "validation": HTTPStatus.BAD_REQUEST,
    "result_too_large": HTTPStatus.BAD_REQUEST,
    "not_found": HTTPStatus.NOT_FOUND,
    "interrupted": HTTPStatus.SERVICE_UNAVAILABLE,
    "timeout": HTTPStatus.GATEWAY_TIMEOUT,
}
# A call takes one of the threads that serve these pages: of one person only one, of all half.
_calls = ConcurrencyLimit(total=max(1, settings.HALO_CORE_THREADS // 2), per_key=1)


@dataclass(frozen=True, slots=True)
class ToolGroup:
    """Tools under one title."""

    title: str
    tools: Sequence[Tool]


@dataclass(frozen=True, slots=True)
class CallReply:
    """What a page says of a call: its result, or the problem as a sentence.

    `failure` is set where the problem names an argument.
    """

    status: int = HTTPStatus.OK
    result: Result | None = None
    problem: str = ""
    failure: ToolFailure | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def groups(who: Principal) -> list[ToolGroup]:
    """The tools that a call would not refuse: the data tools first, integrations last."""
    offered = visibility.filter_visible(SURFACE.catalogue.tools(who.organization_id), who, SURFACE)
    by_place: dict[tuple[str, str], list[Tool]] = {("", scope): [] for scope in GROUPS}
    for tool in offered:
        place = (tool.integration, "" if tool.integration else tool.scope)
        by_place.setdefault(place, []).append(tool)
    return [
        ToolGroup(
            registry.title(integration) if integration else str(GROUPS.get(scope, scope)), tools
        )
        for (integration, scope), tools in by_place.items()
        if tools
    ]


def refusal(who: Principal, tool: Tool) -> str:
    """Why a call of the tool would be refused now, as a sentence; empty if it would not."""
    switches = gate.switches_for_tool(who.organization_id, tool, mcp_server_on=who.mcp_server_on)
    return gate.decide(tool, who.scope, switches, SURFACE).message


def call(who: Principal, tool: Tool, arguments: Arguments, address: str) -> CallReply:
    """Charge the limits of the person and their organization, and run the call."""
    verdict = _charge(who, address)
    if verdict is not None:
        return _rate_limited_reply(verdict)
    actor = Actor(
        kind=ActorKind.PERSON,
        organization_id=ids.text(who.organization_id),
        user_id=ids.text(who.user_id),
        user_email=who.user_email,
        address=address,
    )
    invocation = Invocation(
        surface=SURFACE,
        principal=who,
        actor=actor,
        name=tool.name,
        arguments=arguments,
        request_id=ids.uuid7_hex(),
    )
    try:
        with _calls.hold(ids.text(who.user_id)):
            return _reply(calls.prepare_and_run(invocation))
    except ConcurrencyLimitReached:
        text = _("Another call is in progress. Wait for its answer, then send again.")
        headers = {"Retry-After": "1"}
        return CallReply(status=HTTPStatus.SERVICE_UNAVAILABLE, problem=text, headers=headers)


def _charge(who: Principal, address: str) -> Verdict | None:
    """Charge the call to the person, as a connection's to its own bucket, and the organization."""
    own = Bucket(f"ask:{who.user_id}", settings.HALO_RATE_TOOLS_CALL)
    charged = [own, *rates.organization_buckets(who)]
    # A refusal that this process remembers is recorded already.
    known = next(filter(None, map(limits.still_refused, charged)), None)
    if known is not None:
        return known
    verdict = limits.charge_or_share(charged, record.limits_unavailable)
    if verdict is not None:
        record.security_event(
            "rate_limited",
            address=address,
            organization_id=str(who.organization_id),
            user_id=str(who.user_id),
            detail=verdict.bucket.key.partition(":")[0],
        )
    return verdict


def _rate_limited_reply(verdict: Verdict) -> CallReply:
    headers = verdict.headers()
    text = _("Too many calls. Wait %(seconds)s seconds, then try again.")
    return CallReply(
        status=HTTPStatus.TOO_MANY_REQUESTS,
        problem=text % {"seconds": headers["Retry-After"]},
        headers=headers,
    )


def _reply(outcome: Outcome) -> CallReply:
    match outcome:
        case Succeeded(result=result):
            return CallReply(result=result)
        case RefusedCall(verdict=Verdict() as verdict):
            return _rate_limited_reply(verdict)
        case RefusedCall(decision=decision):
            return CallReply(status=HTTPStatus.FORBIDDEN, problem=decision.message)
        case NeedsInput() | ApprovalPending():
            text = _("This tool asks a question before it answers. Call it from an MCP client.")
            return CallReply(status=HTTPStatus.CONFLICT, problem=text)
        case Failed(failure=TokenEnded()):
            text = _("You are not a member of this organization any more.")
            return CallReply(status=HTTPStatus.FORBIDDEN, problem=text)
        case Failed(failure=failure):
            status = STATUSES.get(failure.kind, HTTPStatus.BAD_GATEWAY)
            return CallReply(status=status, problem=failure.message, failure=failure)
