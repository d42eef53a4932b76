"""Requests for approval as people read them: the call in full, with declared secrets masked."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any, Final
from uuid import UUID

from django.db.models import Q, QuerySet

from approvals import deciders, decisions, masked_arguments, outcomes, requests
from approvals.models import ApprovalRequest, ApprovalStatus
from audit import usage
from foundation.db.storable import escape_characters
from gateway import policies, servers
from gateway.models import Project, ProjectTool
from gateway.openapi import wire
from gateway.openapi.shapes import OpenApiOperation, from_json
from gateway.openapi.wire.values import InvalidArgument
from gateway.policies import PROJECT_SURFACES
from gateway.requests import statuses
from gateway.servers import UnconfirmedServer
from workspace.administration.access import organizations_administered
from workspace.models import User

# Invisible characters, and those that change the order in which others are displayed.
MISLEADING: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
MAX_UNFOLDED: Final = 200
MAX_LISTED: Final = 50
# Of requests that wait, how many are compared with the rules for one page.
MAX_SEARCHED: Final = 500


@dataclass(frozen=True, slots=True)
class ShownArgument:
    """One argument: its name and its whole value; `is_long` values are folded.

    `line` is the value as JSON on one line.
    """

    name: str
    text: str
    line: str
    is_declared: bool

    @property
    def is_long(self) -> bool:
        return len(self.text) > MAX_UNFOLDED or self.text.count("\n") > 3  # noqa: PLR2004  lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """One request; `request_head` is what an approval sends, without body and credentials."""

    row: ApprovalRequest
    project_name: str
    operation: str
    request_head: str
    arguments: Sequence[ShownArgument]
    raw: str
    status: str
    reason: str
    url: str
    result: str
    is_outdated: bool
    is_destructive: bool
    rule: str
    times_returned: int


@dataclass(frozen=True, slots=True)
class RequestFilter:
    """Which requests a person wants to see: of one project, status and tool, each empty for all.

    `tool` is a part of the tool's name. The status is not compared for requests to decide, which
    all wait.
    """

    project_id: str = ""
    status: str = ""
    tool: str = ""

    def tool_condition(self) -> Q:
        """Returns the condition for the project and the tool."""
        wanted = Q(tool__icontains=self.tool) if self.tool else Q()
        if self.project_id:
            wanted &= PROJECT_SURFACES.condition(self.project_id)
        return wanted

    def full_condition(self) -> Q:
        """Returns the condition for project, tool and status."""
        if not self.status:
            return self.tool_condition()
        return self.tool_condition() & ApprovalRequest.with_current_status(
            ApprovalStatus(self.status)
        )


ALL_REQUESTS: Final = RequestFilter()


@dataclass(frozen=True, slots=True)
class Lists:
    """The requests of one person: made by them, waiting for them, and decided by them."""

    mine: Sequence[ApprovalRequest]
    to_decide: Sequence[ApprovalRequest]
    decided: Sequence[ApprovalRequest]


def rows_of(user: User) -> QuerySet[ApprovalRequest]:
    """Returns the requests for calls to projects in the organizations of a person."""
    return ApprovalRequest.objects.filter(
        PROJECT_SURFACES.condition(), organization__in=sorted(user.active_roles)
    ).select_related("organization", "decided_by")


def visible_to(user: User, request_id: UUID) -> ApprovalRequest | None:
    """Returns a request that a person made, decides or decided, or administers; else None."""
    row = rows_of(user).filter(pk=request_id).first()
    if row is None:
        return None
    is_involved = (
        deciders.is_own(row, user)
        or row.decided_by_id == user.pk
        or row.organization_id in organizations_administered(user)
        or policies.may_decide(user, row)
    )
    return row if is_involved else None


def lists(user: User, wanted: RequestFilter = ALL_REQUESTS) -> Lists:
    """Returns the newest requests that concern a person."""
    rows = rows_of(user)
    open_rows = rows.filter(
        wanted.tool_condition(), ApprovalRequest.with_current_status(ApprovalStatus.PENDING)
    )
    waiting = open_rows.defer("result")[:MAX_SEARCHED]
    mine = rows.filter(wanted.full_condition(), user_id=str(user.pk))
    decided = rows.filter(wanted.full_condition(), decided_by=user).exclude(
        status=ApprovalStatus.PENDING
    )
    return Lists(
        [*mine.defer("arguments", "result")[:MAX_LISTED]],
        # One after the other: the arguments of all of them may be large.
        [
            *islice(
                (row for row in waiting.iterator(20) if deciders.may_approve(user, row)),
                MAX_LISTED,
            )
        ],
        [*decided.defer("arguments", "result")[:MAX_LISTED]],
    )


def schema_of(request: ApprovalRequest) -> Mapping[str, Any] | None:
    """Returns the input schema of the tool of a request, None if it is gone."""
    project_id = PROJECT_SURFACES.key_of(request.surface)
    tool = ProjectTool.objects.filter(project_id=project_id, name=request.tool).first()
    return from_json(tool.operation).full_schema if tool else None


def is_open(row: ApprovalRequest) -> bool:
    """Returns whether the request can still be decided."""
    return decisions.may_be_tried(row)


def build(row: ApprovalRequest) -> Details:
    """Returns a request with everything that its approver has to read."""
    project, tool = _find_tool(row)
    operation = from_json(tool.operation) if tool else None
    shown = masked_arguments.mask_request(row)
    return Details(
        row=row,
        project_name=project.name if project else "",
        operation=row.tool,
        request_head=_head(project, operation, shown.values) if project and operation else "",
        arguments=[
            ShownArgument(
                _safe(name),
                _safe(shown.text(name)),
                _safe(shown.line(name)),
                shown.is_declared(name),
            )
            for name in shown.values
        ],
        raw=json.dumps(shown.values, indent=2),
        status=statuses.get_name(row),
        reason=_safe(outcomes.reason(row)),
        url=statuses.url(row),
        result="" if row.result is None else _result(masked_arguments.masked_result(row)),
        rule=_safe(row.rule["text"]) if row.rule else "",
        is_outdated=project is not None and row.version != project.version,
        is_destructive=tool is not None and tool.is_destructive,
        times_returned=_times_returned(row),
    )


def request_head(row: ApprovalRequest) -> str:
    """Returns what an approval of the request sends, without body and credentials."""
    project, tool = _find_tool(row)
    if project is None or tool is None:
        return ""
    return _head(project, from_json(tool.operation), masked_arguments.mask_request(row).values)


def project_name(row: ApprovalRequest) -> str:
    """Returns the name of the project of a request, empty if it is gone."""
    project, _tool = _find_tool(row)
    return project.name if project else ""


def _find_tool(row: ApprovalRequest) -> tuple[Project | None, ProjectTool | None]:
    """The project of a request, and the tool that it calls."""
    project = Project.objects.filter(pk=PROJECT_SURFACES.key_of(row.surface)).first()
    return project, ProjectTool.objects.filter(project=project, name=row.tool).first()


def _times_returned(row: ApprovalRequest) -> int:
    """Returns how many identical calls were answered with the stored result."""
    if row.status != ApprovalStatus.DONE or row.ended_at is None:
        return 0
    # The row of the execution itself may be of the millisecond in which the request ended.
    since = row.ended_at + timedelta(milliseconds=1)
    until = row.ended_at + requests.outcome_period(row.caller_key)
    detail = statuses.audit_detail(row)
    return usage.count_answered(row.authorization_id, detail, since, until)


def _head(project: Project, operation: OpenApiOperation, shown: Mapping[str, Any]) -> str:
    """Method, address and headers; the path of the document if a mask fits nowhere."""
    try:
        request = wire.build(operation, shown)
        target, headers = request.target, request.headers
    except InvalidArgument:
        target, headers = operation.path, ()
    try:
        place = servers.base_url(operation, project.target_url, servers.read(project.servers))
    except UnconfirmedServer:
        place = operation.server
    line = f"{operation.method.upper()} {place.rstrip('/')}{target}"
    return _safe("\n".join([line, *(f"{name}: {value}" for name, value in headers)]))


def _result(stored: Any) -> str:
    """The text of a result, or its JSON."""
    blocks = stored.get("content") if isinstance(stored, dict) else None
    texts = [one.get("text") for one in blocks or [] if isinstance(one, dict)]
    if texts and all(isinstance(text, str) for text in texts):
        return _safe("\n\n".join(map(str, texts)))
    return json.dumps(stored, indent=2)


def _safe(text: str) -> str:
    return str(escape_characters(text, MISLEADING))
