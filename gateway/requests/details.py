"""Requests for approval as people read them: the call in full, with declared secrets masked."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from itertools import chain, islice
from typing import Any, Final, TypeAlias
from uuid import UUID

from django.conf import settings
from django.db.models import Q, QuerySet

from approvals import (
    deciders,
    decisions,
    execution,
    masked_arguments,
    outcomes,
    requests,
    stored_arguments,
)
from approvals.decisions import UnreadableRequest
from approvals.models import ApprovalRequest, ApprovalStatus
from approvals.surface_rules import find_rules
from audit import usage
from foundation.db.storable import escape_characters
from gateway import credentials, policies, servers, source
from gateway.models import Authentication, Effect, Project, ProjectTool
from gateway.openapi import wire
from gateway.openapi.shapes import OpenApiOperation, from_json
from gateway.openapi.wire.values import InvalidArgument
from gateway.policies import PROJECT_SURFACES, ProjectPolicy
from gateway.requests import statuses
from gateway.servers import UnconfirmedServer
from workspace.administration.access import organizations_administered
from workspace.models import User

# Invisible characters, and those that change the order in which others are displayed.
MISLEADING: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
MISSING_OF_REQUESTER: Final = (
    "{who} has no credential for the API ({schemes}). The request waits: it can be approved once "
    "{who} has added one at {url} ."
)
MISSING_OF_PROJECT: Final = (
    "The project has no credential for the API ({schemes}). The request waits: it can be approved "
    "once an admin has added one at {url} ."
)
DOCUMENT_CHANGED: Final = (
    "The OpenAPI document of the project changed after the request was made. The call has to be "
    "requested again."
)
SWITCHED_OFF: Final = (
    "The tool “{tool}” is switched off. The request can be approved once an admin turns it on."
)
DENIED: Final = "The policy of the project denies this call now."
MAX_UNFOLDED: Final = 200
MAX_LISTED: Final = 50
# How many arguments, and lines of its head, an item of a list has, and how much of each.
MAX_ARGUMENTS_OF_LINE: Final = 6
MAX_OF_LINE: Final = 160
# Returns the policy of a project by its id.
ReadPolicy: TypeAlias = Callable[[str], ProjectPolicy]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRequest:
    """One line of a list: what a call would do, on whose request, and its state.

    `arguments` are the first ones, each a name and a value, and `omitted` how many there are more.
    `why_not` says why a call that waits cannot be approved now.
    `is_whole` if nothing that the page of the request shows of the call is cut or left out, so that
    it can be decided here. A request of another kind than a call to a project has its summary.
    """

    row: ApprovalRequest
    title: str
    label: str
    url: str
    project_name: str = ""
    head: Sequence[str] = ()
    arguments: Sequence[tuple[str, str]] = ()
    omitted: int = 0
    is_whole: bool = False
    is_destructive: bool = False
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Lists:
    """The requests of one person: made by them, waiting for them, and decided by them."""

    mine: Sequence[ListedRequest]
    to_decide: Sequence[ListedRequest]
    decided: Sequence[ListedRequest]


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
    rows = rows_of(user).filter(wanted.full_condition()).defer("result")
    decided = rows.filter(decided_by=user).exclude(status=ApprovalStatus.PENDING)
    return Lists(
        _list_rows(rows.filter(user_id=str(user.pk))[:MAX_LISTED]),
        _list_rows(islice(decisions.list_decidable(user, wanted.tool_condition()), MAX_LISTED)),
        _list_rows(decided[:MAX_LISTED]),
    )


def _list_rows(rows: Iterable[ApprovalRequest]) -> list[ListedRequest]:
    """The lines of requests, with two statements for all projects and tools, and one a policy."""
    listed = [*rows]
    keys = {PROJECT_SURFACES.key_of(row.surface) for row in listed}
    projects = Project.objects.in_bulk(keys)
    tools = ProjectTool.objects.filter(project__in=keys, name__in={row.tool for row in listed})
    tools = tools.select_related("project")
    by_name = {(tool.project_id, tool.name): tool for tool in tools}
    read_policy = cache(policies.read)
    found = []
    for row in listed:
        key = PROJECT_SURFACES.key_of(row.surface)
        project, tool = projects.get(key), by_name.get((key, row.tool))
        found.append(_list_row(row, project, tool, read_policy))
    return found


def _list_row(
    row: ApprovalRequest,
    project: Project | None,
    tool: ProjectTool | None,
    read_policy: ReadPolicy,
) -> ListedRequest:
    label, url = outcomes.get_label(row), find_rules(row).page_url(row)
    is_waiting = row.current_status == ApprovalStatus.PENDING
    why_not = ""
    if is_waiting and project is not None:
        why_not = _explain_refusal(row, project, tool, read_policy) or _explain_missing(
            row, project, tool
        )
    if project is None or tool is None:
        return ListedRequest(row=row, title=row.summary, label=label, url=url, why_not=why_not)
    operation = from_json(tool.operation)
    shown = masked_arguments.mask(row.arguments, operation.full_schema)
    head = _head(project, operation, shown.values).splitlines()
    arguments = [
        (_safe(name), _safe(shown.text(name) if isinstance(value, str) else shown.line(name)))
        for name, value in shown.values.items()
    ]
    if is_waiting and shown.unreadable:
        why_not = UnreadableRequest.message
    is_whole = (
        row.version == project.version
        and not (shown.undeclared or shown.unreadable)
        and max(len(arguments), len(head)) <= MAX_ARGUMENTS_OF_LINE
        and all(_fits_line(text) for text in [*head, *chain(*arguments)])
    )
    return ListedRequest(
        row=row,
        title=row.tool,
        label=label,
        url=url,
        project_name=project.name,
        head=[_cut(text) for text in head[:MAX_ARGUMENTS_OF_LINE]],
        arguments=[(_cut(name), _cut(text)) for name, text in arguments[:MAX_ARGUMENTS_OF_LINE]],
        omitted=max(0, len(arguments) - MAX_ARGUMENTS_OF_LINE),
        is_whole=is_whole,
        is_destructive=tool.is_destructive,
        why_not=why_not,
    )


def _fits_line(text: str) -> bool:
    return len(text) <= MAX_OF_LINE and "\n" not in text


def _cut(text: str) -> str:
    if _fits_line(text):
        return text
    return f"{text.splitlines()[0][:MAX_OF_LINE]}…"


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
        is_destructive=tool is not None and tool.is_destructive,
        times_returned=_times_returned(row),
    )


def request_head(row: ApprovalRequest) -> str:
    """Returns what an approval of the request sends, without body and credentials."""
    project, tool = _find_tool(row)
    if project is None or tool is None:
        return ""
    return _head(project, from_json(tool.operation), masked_arguments.mask_request(row).values)


def find_obstacle(row: ApprovalRequest) -> str:
    """Returns which credential is missing for the call of a request, and who has to add it.

    Empty if there is none, and for a request that cannot be executed for another reason.
    """
    project, tool = _find_tool(row)
    return _explain_missing(row, project, tool)


def _explain_missing(
    row: ApprovalRequest, project: Project | None, tool: ProjectTool | None
) -> str:
    if project is None or tool is None:
        return ""
    operation = from_json(tool.operation)
    try:
        base_url = servers.base_url(operation, project.target_url, servers.read(project.servers))
        requester = UUID(row.user_id)  # that of an erased person is none
    except (UnconfirmedServer, ValueError):
        return ""
    missing = credentials.find_missing(
        project.pk, requester, operation, base_url, project.authentication
    )
    if not missing:
        return ""
    is_personal = project.authentication == Authentication.PERSON
    text = MISSING_OF_REQUESTER if is_personal else MISSING_OF_PROJECT
    url = f"{settings.HALO_PUBLIC_URL}/projects/{project.pk}/credentials"
    return text.format(who=row.user_email, schemes=" and ".join(missing), url=url)


def takes_personal_credentials(row: ApprovalRequest) -> bool:
    """Returns whether the call of a request is sent with a credential that its requester adds."""
    project, _tool = _find_tool(row)
    return project is not None and project.authentication == Authentication.PERSON


def find_reachable_requester(row: ApprovalRequest) -> User | None:
    """Returns the person who made a request, if they still can use pages of the organization."""
    try:
        key = UUID(row.user_id)
    except ValueError:  # a key has no user
        return None
    user = User.objects.filter(pk=key, is_active=True, is_program=False).first()
    return user if user is not None and row.organization_id in user.active_roles else None


def find_refusal(row: ApprovalRequest) -> str:
    """Returns why the call of a request would be refused if it was approved now, else nothing.

    An approval makes all of these checks again, and more (`gateway.review`).
    """
    project, tool = _find_tool(row)
    return _explain_refusal(row, project, tool, policies.read)


def _explain_refusal(
    row: ApprovalRequest,
    project: Project | None,
    tool: ProjectTool | None,
    read_policy: ReadPolicy,
) -> str:
    if project is None or tool is None or not tool.is_present:
        return execution.GONE.format(tool=row.tool)
    if row.version != project.version:
        return DOCUMENT_CHANGED
    if not tool.is_enabled:
        return SWITCHED_OFF.format(tool=row.tool)
    unavailability = source.find_unavailability(tool, from_json(tool.operation))
    if unavailability is not None:
        return unavailability.message
    arguments = stored_arguments.as_stored(row.arguments)
    decision = read_policy(project.pk).decide(row.tool, arguments, is_read=tool.is_read)
    return DENIED if decision.effect == Effect.DENY else ""


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
