"""Linear: bugs and feature requests as issues, with a personal API key.

Contract: Linear's published GraphQL schema; linear.app/developers, GraphQL and Rate limiting.
"""

import datetime as dt
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Final, Literal, TypeAlias
from uuid import UUID

from tools_registry.api import (
    BoundCustomer,
    Facts,
    IntegrationFailure,
    Json,
    Keywords,
    NotDone,
    NotFound,
    PermissionRefused,
    Setting,
    ToolContext,
    ToolFailure,
    Toolset,
    Unauthorized,
    UpstreamOutcomeUnknown,
    ValidationFailure,
    Vendor,
    VendorAccount,
    VendorConnection,
    VendorResponse,
    add_sentence,
    judge_endpoint_status,
)
from tools_registry.api.readable import one_line

MAX_ID: Final = 64
VIEWER: Final = "query Viewer { viewer { name organization { id name } } }"
TEAMS: Final = """
query Teams($filter: TeamFilter, $after: String) {
  teams(filter: $filter, first: 50, after: $after) {
    nodes { id key name } pageInfo { hasNextPage endCursor }
  }
}"""
LABELS: Final = """
query Labels($filter: IssueLabelFilter, $after: String) {
  issueLabels(filter: $filter, first: 50, after: $after) {
    nodes { id name } pageInfo { hasNextPage endCursor }
  }
}"""
CREATE: Final = """
mutation Create($input: IssueCreateInput!) {
  issueCreate(input: $input) { success issue { identifier title url } }
}"""
CREATED: Final = """
query Created($id: ID!) {
  issues(filter: { id: { eq: $id } }, first: 1, includeArchived: true) {
    nodes { identifier title url } pageInfo { hasNextPage endCursor }
  }
}"""

Priority: TypeAlias = Literal["none", "urgent", "high", "medium", "low"]
PRIORITIES: Final[Mapping[Priority, int]] = {
    "none": 0,
    "urgent": 1,
    "high": 2,
    "medium": 3,
    "low": 4,
}
MAX_PAGES: Final = 10
MAX_LIST: Final = 500
FENCE: Final = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")
NAME: Final = r"\S(.{0,78}\S)?"
# Each of these budgets names its own end (Rate limiting, X-RateLimit-...-Reset).
BUDGETS: Final = ("requests", "complexity", "endpoint-requests")
UNREADABLE: Final = "Linear's response could not be read."


class _WrongSetting(IntegrationFailure):
    """A setting names nothing in Linear."""


class _AlreadyThere(UpstreamOutcomeUnknown):
    """There is something with this id: an earlier request came through."""


def judge(answer: VendorResponse) -> ToolFailure | None:
    """The failure of an answer, or None; GraphQL returns most of them with 200 or 400."""
    value = answer.value if isinstance(answer.value, dict) else {}
    if value.get("errors"):
        return _refusal(value["errors"], answer.status)
    if isinstance(value.get("data"), dict) and answer.is_success:
        return None
    return judge_endpoint_status(answer) or IntegrationFailure(
        UNREADABLE, upstream_status=answer.status
    )


def waits(answer: VendorResponse) -> float | None:
    """Seconds until the budget that is used up is full again; Linear says it with 400, not 429."""
    if _code(answer.value) != "RATELIMITED":
        return None
    used_up = [name for name in BUDGETS if _number(answer, name, "remaining") == 0]
    ends = [_number(answer, name, "reset") for name in used_up]
    known = [end / 1000 - time.time() for end in ends if end is not None]
    # The buckets fill steadily, so without a header a second may be enough.
    return max(0.0, *known) if known else 1.0


def check(vendor: Vendor) -> VendorAccount:
    """Say which workspace the key belongs to, whose it is, and which settings name nothing there.

    What the key may do is not checked: Linear says so only as it refuses a request.
    """
    wrong = _find_wrong_settings(vendor)
    match _run_query(vendor, VIEWER, {}):
        case {
            "viewer": {"name": str(name), "organization": {"id": str(id_), "name": str(workspace)}}
        } if id_:
            said = f"Linear workspace {one_line(workspace)} as {one_line(name)}"
            return VendorAccount(said, one_line(id_, MAX_ID), wrong_settings=tuple(wrong))
    raise IntegrationFailure(UNREADABLE)


def _find_wrong_settings(vendor: Vendor) -> list[str]:
    wrong: list[str] = []
    if not vendor.settings.get("default_team"):
        return wrong  # which labels there are depends on the team
    try:
        team = _team(vendor, "")
    except _WrongSetting as failure:
        return [failure.message]
    for label in ("bug_label", "feature_label"):
        try:
            _labels(vendor, team, vendor.settings.get(label, ""), ())
        except _WrongSetting as failure:
            wrong.append(failure.message)
    return wrong


def authorization(key: str) -> Mapping[str, str]:
    """A personal API key is sent without a scheme; only OAuth tokens are bearer tokens."""
    return {"Authorization": key}


TOOLSET: Final = Toolset(
    integration="linear",
    title="Linear",
    connection=VendorConnection(
        base_url="https://api.linear.app",
        credential="Personal API key",
        credential_help="Linear: Settings, Security & access, Personal API keys; it begins with "
        "lin_api_. Permissions: Read, and Create issues.",
        help_date=dt.date(2026, 11, 29),
        wrong_credentials={
            "lin_oauth_": "a token of an OAuth application. Use a personal API key, which begins "
            "with lin_api_",
            "lin_wh_": "the secret of a webhook. Use a personal API key",
        },
        check=check,
        authorization=authorization,
        settings=(
            Setting(
                "default_team",
                "Default team",
                help="Key or name of the team for issues without one, such as ENG.",
                pattern=NAME,
            ),
            Setting("bug_label", "Label of bugs", help="Added to every new bug.", pattern=NAME),
            Setting(
                "feature_label",
                "Label of feature requests",
                help="Added to every new feature request.",
                pattern=NAME,
            ),
        ),
        judge=judge,
        waits=waits,
    ),
)


def _text(longest: int, description: str) -> Keywords:
    return Keywords(minLength=1, maxLength=longest, pattern=r"\S", description=description)


Team: TypeAlias = Annotated[
    str, _text(80, "Key or name of the team, such as ENG; else the default team.")
]
Labels: TypeAlias = Annotated[
    list[Annotated[str, _text(80, "Name of a label")]],
    Keywords(maxItems=10, uniqueItems=True, description="Further labels that exist in Linear."),
]


@dataclass(frozen=True, slots=True)
class IssueDetails:
    """Where an issue is filed, and how urgent it is."""

    priority: Priority | None = None
    team: Team | None = None
    labels: Labels | None = None


NO_DETAILS: Final = IssueDetails()
ISSUE: Final = ("identifier", "title", "url")
OUTPUT: Final = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ISSUE},
    "required": list(ISSUE),
    "additionalProperties": False,
}


@TOOLSET.tool(
    title="Report a bug",
    description="File a bug in Linear as a new issue of a team, with the "
    "organization's label for bugs. Returns the issue's identifier and link.",
    output_schema=OUTPUT,
    mutates=True,
    open_world=True,
)
def create_bug(
    context: ToolContext,
    title: Annotated[str, _text(255, "What is wrong, in one line.")],
    description: Annotated[
        str,
        _text(20_000, "What happened, what was expected, and how to reproduce it, in Markdown."),
    ],
    details: IssueDetails = NO_DETAILS,
) -> Facts:
    return _file(context, title, description, details, label="bug_label")


@TOOLSET.tool(
    title="Request a feature",
    description="File a feature request in Linear as a new issue of a team, with the "
    "organization's label for feature requests. Returns the issue's identifier and link.",
    output_schema=OUTPUT,
    mutates=True,
    open_world=True,
)
def create_feature_request(
    context: ToolContext,
    title: Annotated[str, _text(255, "The requested feature, in one line.")],
    description: Annotated[
        str, _text(20_000, "The use case, the reason, and what prevents it today, in Markdown.")
    ],
    details: IssueDetails = NO_DETAILS,
) -> Facts:
    return _file(context, title, description, details, label="feature_label")


def _file(
    context: ToolContext, title: str, description: str, details: IssueDetails, *, label: str
) -> Facts:
    vendor = context.vendor
    team = _team(vendor, details.team or "")
    fields: dict[str, Json] = {
        "teamId": team,
        "title": title,
        "description": _add_customer(description, context.customer),
        "labelIds": _labels(vendor, team, vendor.settings.get(label, ""), details.labels or ()),
    }
    if details.priority is not None:
        fields["priority"] = PRIORITIES[details.priority]
    if context.call_id:
        fields["id"] = _issue_id(context.call_id)
    context.check_cancelled()
    return Facts(_create_issue(vendor, fields))


def _create_issue(vendor: Vendor, fields: Mapping[str, Json]) -> Mapping[str, str]:
    """The new issue. If the result is unknown, the same issue is sent once more.

    What Linear refuses, and what stays unknown, is looked for: the id is this call's own, so what
    has it is what a try of this call made.
    """
    try:
        return _send_issue(vendor, fields)
    except (NotDone, Unauthorized):
        raise
    except (NotFound, ValidationFailure) as failure:
        # An error that names values may come after the issue was made.
        return _find_issue(vendor, fields, failure)
    except IntegrationFailure as failure:
        if _is_refusal(failure.upstream_status) and not isinstance(failure, _AlreadyThere):
            raise
    try:
        return _send_issue(vendor, fields)
    except IntegrationFailure as failure:
        return _find_issue(vendor, fields, failure)


def _send_issue(vendor: Vendor, fields: Mapping[str, Json]) -> Mapping[str, str]:
    look_for = f"an issue with the title “{one_line(fields['title'], 60)}”"
    try:
        data = _run_query(vendor, CREATE, {"input": fields}, look_for=look_for)
    except _AlreadyThere as failure:
        return _find_issue(vendor, fields, failure)
    payload = data.get("issueCreate")
    return _check_node(payload.get("issue") if isinstance(payload, dict) else None, ISSUE)


def _is_refusal(status: int | None) -> bool:
    return status is not None and 400 <= status < 500  # noqa: PLR2004  client errors (RFC 9110)


def _find_issue(
    vendor: Vendor, fields: Mapping[str, Json], failure: ToolFailure
) -> Mapping[str, str]:
    """The issue that a call has made after all. Raises the failure where it is not found."""
    try:
        found = _nodes(vendor, CREATED, {"id": fields["id"]}, "issues", ISSUE)
    except ToolFailure:
        raise failure from None
    if not found:
        raise failure
    return found[0]


def _issue_id(call_id: str) -> str:
    """The UUID v4 that the issue of a call has: Linear takes each only once."""
    return str(UUID(bytes=sha256(f"linear:{call_id}".encode()).digest()[:16], version=4))


def _add_customer(description: str, customer: BoundCustomer | None) -> str:
    """A last line that says who the customer is: a name and an id, and nothing to reach them by."""
    if customer is None:
        return description
    known = customer.external_id or customer.id
    text = f"{customer.name} ({known})" if customer.name else known
    return f"{description}{_close_fence(description)}\n\n---\nCustomer: {_plain(one_line(text))}"


def _close_fence(text: str) -> str:
    """What ends a block of code that is open at the end of a text (CommonMark 0.31.2, 4.5)."""
    fence = ""
    for line in text.splitlines():
        match = FENCE.fullmatch(line)
        if match and not fence:
            fence = match[1]
        elif match and match[1].startswith(fence) and not match[2].strip():
            fence = ""
    return f"\n{fence}" if fence else ""


def _team(vendor: Vendor, asked: str) -> str:
    """The id of a team. Raises ValidationFailure for one that the caller named and that is none."""
    wanted = (asked or vendor.settings.get("default_team", "")).strip()
    if not wanted:
        raise _invalid("team", "is required: no default team is set")
    same = {"eqIgnoreCase": wanted}
    either = {"or": [{"key": same}, {"name": same}]}
    found = _nodes(vendor, TEAMS, {"filter": either}, "teams", ("id", "key", "name"))
    by_key = [team for team in found if team["key"].casefold() == wanted.casefold()]
    match by_key or found:
        case [team]:
            return team["id"]
        case []:
            problem = "must be the key or the name of a team in Linear"
        case _:
            problem = "is the name of several teams: give the key"
    if asked:
        keys = _list_names(vendor, TEAMS, {}, "teams", "key")
        raise _invalid("team", f"{problem}. There are: {keys}")
    raise _WrongSetting(f"The default team of the connection to Linear {problem}.")


def _labels(vendor: Vendor, team: str, usual: str, named: Sequence[str]) -> list[str]:
    """The ids of the labels.

    Raises ValidationFailure for one that the caller named and that is none.
    """
    asked = [name.strip() for name in named]
    wanted = list(dict.fromkeys([usual.strip(), *asked] if usual.strip() else asked))
    if not wanted:
        return []
    # A team's labels are its own and the workspace's; a group cannot be given to an issue.
    either = [{"name": {"eqIgnoreCase": name}} for name in wanted]
    place = [{"team": {"null": True}}, {"team": {"id": {"eq": team}}}]
    asked_for = {"and": [{"or": either}, {"or": place}], "isGroup": {"eq": False}}
    found = _nodes(vendor, LABELS, {"filter": asked_for}, "issueLabels", ("id", "name"))
    ids = {label["name"].casefold(): label["id"] for label in found}
    for name in wanted:
        if name.casefold() not in ids and name not in asked:
            message = f"The label {one_line(name)} of the connection's settings does not exist"
            raise _WrongSetting(f"{message} in Linear.")
        if name.casefold() not in ids:
            usable = {"or": place, "isGroup": {"eq": False}}
            there_are = _list_names(vendor, LABELS, usable, "issueLabels", "name")
            reason = f"names no label of the team: {one_line(name)}. There are: {there_are}"
            raise _invalid("labels", reason)
    return list(dict.fromkeys(ids[name.casefold()] for name in wanted))


def _list_names(vendor: Vendor, document: str, where: Json, name: str, field: str) -> str:
    """What a caller may name instead: of a long list the beginning, which is enough to go on."""
    nodes, cursor = _page(_run_query(vendor, document, {"filter": where}).get(name))
    names = ", ".join(_check_node(node, (field,))[field] for node in nodes) or "none"
    is_whole = not cursor and len(names) <= MAX_LIST
    return one_line(names, MAX_LIST) + ("" if is_whole else " …")


def _invalid(field: str, reason: str) -> ValidationFailure:
    return ValidationFailure(f"The argument {field} {reason}.", field=field, reason=reason)


def _nodes(
    vendor: Vendor, document: str, variables: dict[str, Json], name: str, fields: Sequence[str]
) -> list[Mapping[str, str]]:
    """Everything that a paged question finds (linear.app/developers/pagination)."""
    found: list[Mapping[str, str]] = []
    after = None
    for _ in range(MAX_PAGES):
        page = _run_query(vendor, document, {**variables, "after": after} if after else variables)
        nodes, after = _page(page.get(name))
        found += [_check_node(node, fields) for node in nodes]
        if not after:
            return found
    raise IntegrationFailure("Linear's response did not end.")


def _page(value: Json) -> tuple[list[Json], str]:
    """The nodes of a page, and the cursor behind it if there is more."""
    match value:
        case {"nodes": list(nodes), "pageInfo": {"hasNextPage": True, "endCursor": str(cursor)}}:
            return nodes, cursor
        case {"nodes": list(nodes)}:
            return nodes, ""
    raise IntegrationFailure(UNREADABLE)


def _run_query(
    vendor: Vendor, document: str, variables: Mapping[str, Json], *, look_for: str = ""
) -> Mapping[str, Json]:
    """What a document asks for. Raises what `judge` makes of the answer.

    A mutation says what it makes with `look_for`.
    """
    answer = vendor.send(
        "POST",
        "/graphql",
        json={"query": document, "variables": variables},
        is_read=not look_for,
        look_for=look_for,
    )
    data: Mapping[str, Json] = answer.value["data"]
    return data


def _check_node(node: Json, fields: Sequence[str]) -> Mapping[str, str]:
    given = node if isinstance(node, dict) else {}
    if not all(isinstance(given.get(field), str) for field in fields):
        raise IntegrationFailure(UNREADABLE)
    return {field: given[field] for field in fields}


def _refusal(errors: Json, status: int) -> ToolFailure:
    error, extensions = _first(errors)
    code = extensions.get("code")
    if code == "AUTHENTICATION_ERROR":
        return Unauthorized("Linear refused the organization's API key.")
    if code == "RATELIMITED":
        return NotDone("Linear's rate limit is reached.", upstream_status=status)
    if code == "FORBIDDEN":
        words = one_line(extensions.get("userPresentableMessage"), otherwise="")
        return PermissionRefused(add_sentence("Linear refused: the key may not do this", words))
    if str(error.get("message", "")).casefold().startswith("conflict on insert"):
        return _AlreadyThere("Linear has this issue already.", upstream_status=status)
    return _refused_values(error, extensions, status)


def _refused_values(
    error: Mapping[str, Json], extensions: Mapping[str, Json], status: int
) -> ToolFailure:
    """The failure of what Linear says about the values, or of an error that it does not explain."""
    words = one_line(extensions.get("userPresentableMessage") or error.get("message"))
    if str(error.get("message", "")).casefold().startswith("entity not found"):
        return NotFound(f"Linear has no such record: {words}")
    if extensions.get("code") == "INPUT_ERROR":
        return ValidationFailure(
            f"Linear refused the values: {words}", field="arguments", reason=words
        )
    if extensions.get("userError") is True:
        return NotDone(f"Linear refused: {words}", upstream_status=status)
    return IntegrationFailure("Linear could not do it.", upstream_status=status)


def _first(errors: Json) -> tuple[Mapping[str, Json], Mapping[str, Json]]:
    """The first of a list of GraphQL errors, and its extensions."""
    error = errors[0] if isinstance(errors, list) else None
    error = error if isinstance(error, dict) else {}
    extensions = error.get("extensions")
    return error, extensions if isinstance(extensions, dict) else {}


def _code(value: Json) -> Json:
    errors = value.get("errors") if isinstance(value, dict) else None
    return _first(errors)[1].get("code") if errors else None


def _number(answer: VendorResponse, budget: str, what: str) -> int | None:
    value = answer.headers.get(f"x-ratelimit-{budget}-{what}", "").strip()
    return int(value) if value.isascii() and value.isdigit() and len(value) < 20 else None  # noqa: PLR2004


def _plain(text: str) -> str:
    """Text that Markdown takes as it is: a name makes no link, image or heading."""
    return "".join(f"\\{c}" if c in r"\`*_{}[]<>()#!|~@" else c for c in text)
