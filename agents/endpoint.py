"""What each request does, in a thread: checks, then rows. A turn that may run is returned.

Everything that can refuse a request is checked before anything is stored, and before a stream
begins.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import parse_qs
from uuid import UUID

import structlog
from django.conf import settings

from agents import callers, definitions, language_models, sessions, turns
from agents.callers import SURFACE
from agents.definitions import ConfiguredAgent
from agents.loop import StoredTurn as RunningTurn
from agents.loop import TurnLimits
from agents.models import Session, SessionTurn
from agents.models_port import Model
from agents.protocol import options, requests, resolution
from agents.protocol.compaction import compact_history
from agents.protocol.options import ChosenOptions
from agents.protocol.requests import (
    ClientTool,
    InvalidAgentRequest,
    ServerTool,
    StreamMode,
    TurnRequest,
)
from agents.protocol.resolution import Resolved, ToolCall
from agents.replies import AgentReply, error_reply
from agents.sessions import Owner, Sent
from agents.turns import BudgetUsed
from foundation import ids
from foundation.db.storable import has_unstorable_text
from foundation.json_text import dumps
from foundation.sealing import SealBroken
from foundation.store_failures import is_store_failure
from mcp_protocol import strict_json
from mcp_protocol.errors import ProtocolError
from oauth.principal import Principal
from rest import errors, idempotency
from rest.errors import ApiError
from tools_registry import registry
from tools_registry.api import Tool
from tools_registry.endpoint import admission
from tools_registry.pipeline import visibility

log = structlog.get_logger(__name__)

KEY: Final = re.compile(r"[ -~]{0,255}")
VERSION: Final = 1
# How soon a session that is busy may have ended its turn.
RETRY_SOON: Final = {"Retry-After": "1"}
MAX_DIGITS: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRequest:
    """One request below the base path; header names are in lower case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    address: str


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a key may use of an agent: its model, and its tools by name."""

    agent: ConfiguredAgent
    principal: Principal
    model: Model
    tools: Mapping[str, Tool]
    has_own_key: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A turn that is stored and leased, and how it is answered."""

    session_id: str
    turn_id: UUID
    stream: StreamMode
    running: RunningTurn
    allowed: Allowed
    chosen: Sequence[ServerTool]
    client_tools: Sequence[ClientTool]

    @property
    def is_new(self) -> bool:
        """Whether the request created the session."""
        return bool(self.running.session_id)


def respond(request: AgentRequest) -> AgentReply | Started:
    """Returns the response to a request, or the turn whose events are the response."""
    try:
        return _respond(request)
    except ApiError as refused:
        return error_reply(refused)
    except InvalidAgentRequest as invalid:
        return error_reply(ApiError(400, str(invalid)))
    except Exception as error:
        request_id = ids.uuid7_hex()
        log.exception("agents_request_failed", request_id=request_id)
        is_outage = is_store_failure(error)
        return error_reply(errors.unavailable() if is_outage else errors.internal_error(request_id))


def _respond(request: AgentRequest) -> AgentReply | Started:
    host = request.headers.get("host", "")
    # DNS rebinding: a page of another site must not reach a server on this computer.
    if not admission.is_ours(host, tuple(settings.ALLOWED_HOSTS)):
        raise ApiError(421, "Unknown host.")
    parts = request.path.strip("/").split("/")
    handler = HANDLERS.get((parts[0], len(parts)))
    if handler is None:
        raise ApiError(404, "There is nothing at this address.")
    # The edge leaves out the body of the response to HEAD.
    by_method = handler.get("GET" if request.method == "HEAD" else request.method)
    if by_method is None:
        allowed = {"Allow": ", ".join([*handler, "HEAD"] if "GET" in handler else handler)}
        raise ApiError(405, "This method is not allowed here.", headers=allowed)
    authorization = request.headers.get("authorization", "")
    callers.charge(authorization, request.address)
    if parts[0] == "meta" and not authorization and settings.HALO_AGENTS_PUBLIC_META:
        return AgentReply(200, _meta(definitions.ALL, ()))
    who = callers.authenticate(authorization, request.address)
    return by_method(request, who, *parts[1:])


def _meta(agents: Mapping[str, ConfiguredAgent], tools: Sequence[Tool]) -> dict[str, Any]:
    listed = [definitions.describe_agent(agent, tools) for agent in agents.values()]
    return {"version": VERSION, "agents": listed}


def meta(_request: AgentRequest, who: Principal) -> AgentReply:
    return AgentReply(200, _meta(definitions.get_agents(who.organization_id), _tools(who)))


def list_sessions(request: AgentRequest, who: Principal) -> AgentReply:
    query = _Query(request.query)
    after = query.text("after")
    if after and not sessions.is_id(after):
        raise _invalid_cursor()
    is_newest_first = query.choice("order", ("asc", "desc")) == "desc"
    found, cursor = sessions.page(_owner(who), after, is_newest_first=is_newest_first)
    return AgentReply(200, {"sessions": found, **({"nextCursor": cursor} if cursor else {})})


def read_session(request: AgentRequest, who: Principal, session_id: str) -> AgentReply:
    session = _session(who, session_id)
    agent = definitions.get_agents(who.organization_id).get(session.agent)
    budget = (agent.limits if agent is not None else TurnLimits()).history_tokens
    return AgentReply(
        200,
        {
            "sessionId": session.pk,
            "agent": {
                "name": session.agent,
                "tools": session.tools,
                "options": options.mask_secrets(agent.options if agent else (), session.options),
            },
            "tools": session.client_tools,
            **_history(session, _Query(request.query), budget),
            **_approvals(session),
        },
    )


def _history(session: Session, query: "_Query", budget: int) -> dict[str, Any]:
    """Both histories, or the one that the query names; a page of the full one has the newest."""
    kind = query.choice("history", ("", "compacted", "full"))
    limit, before = query.number("limit"), query.number("before")
    if kind != "full":
        if limit or before:
            raise InvalidAgentRequest("limit and before are for ?history=full.")
        full = sessions.messages(session.pk)
        compacted = {"compacted": compact_history(full, budget)}
        return {"history": compacted if kind else {**compacted, "full": full}}
    page, cursor = sessions.page_of_messages(session.pk, before, limit)
    return {"history": {"full": page}, **({"nextCursor": str(cursor)} if cursor else {})}


def _approvals(session: Session) -> dict[str, Any]:
    """What calls of the session wait for, or can go on with: an extension of the protocol."""
    waiting = sessions.waiting_calls(session.pk)
    found = [
        {"toolCallId": call, "requestId": str(row.pk), "status": row.status}
        for call, row in sessions.find_approval_requests(session, waiting).items()
    ]
    return {"approvals": found} if found else {}


def delete_session(_request: AgentRequest, who: Principal, session_id: str) -> AgentReply:
    sessions.delete(_session(who, session_id))
    return AgentReply(204, deleted_session=session_id)


def create_session(request: AgentRequest, who: Principal) -> Started:
    name, turn = requests.new_session(_parse_body(request))
    agent = definitions.get_agents(who.organization_id).get(name)
    if agent is None:
        raise InvalidAgentRequest(f"There is no agent {name!r}. GET /meta lists them.")
    chosen = options.parse_values(agent.options, turn.options or {})
    turn = replace(turn, options={**options.defaults(agent.options), **chosen.shown})
    allowed = _authorize_agent(agent, who, chosen.secrets)
    _require_known(turn, allowed)
    if resolution.pending(turn.messages[:-1]):
        raise InvalidAgentRequest("The history ends with calls that have no result.")
    session, row = sessions.create(_owner(who), agent.name, turn, _build_sent(allowed, chosen))
    return _prepare_run(session, row, turn.stream, allowed, ())


def continue_session(request: AgentRequest, who: Principal, session_id: str) -> Started:
    session = _session(who, session_id)
    agent = definitions.get_agents(who.organization_id).get(session.agent)
    if agent is None:
        raise ApiError(409, "The agent of this session does not exist any more.")
    body = _parse_body(request)
    turn = requests.new_turn(body)
    key = _idempotency_key(request)
    chosen = options.parse_values(agent.options, turn.options or {})
    turn = replace(turn, options=chosen.shown)
    allowed = _authorize_agent(agent, who, {**sessions.secrets_of(session), **chosen.secrets})
    _require_known(turn, allowed)

    def resolve(session: Session, waiting: list[ToolCall]) -> list[Resolved]:
        own = {one["name"] for one in session.client_tools}
        return resolution.resolve(waiting, turn.messages, own.__contains__)

    try:
        digest = ids.sha256_hex(dumps(body).decode())
        sent = replace(_build_sent(allowed, chosen), key=key, digest=digest)
        session, row, resolved = sessions.begin(session.pk, turn, sent, resolve)
    except Session.DoesNotExist:
        raise _no_session() from None
    except sessions.Busy:
        message = "Another turn of this session is running."
        raise ApiError(409, message, headers=RETRY_SOON) from None
    except sessions.AlreadySent as before:
        raise ApiError(409, _repeat_message(before)) from None
    return _prepare_run(session, row, turn.stream, allowed, resolved, is_new=False)


def _authorize_agent(agent: ConfiguredAgent, who: Principal, secrets: Mapping[str, str]) -> Allowed:
    """What the key may use of an agent, with these secret options.

    Raises ApiError if the organization's language model cannot be used, and
    InvalidAgentRequest if its applications use keys of their own, and this one has sent none.
    """
    row = language_models.find_model(who.organization_id, agent.language_model)
    has_own_key = row is not None and bool(agent.key_option)
    if has_own_key:
        _require_key(agent.key_option, secrets)
    try:
        if row is not None and not has_own_key:
            of_organization = {"organization": who.organization_id}
            turns.require_budget(row.daily_budget, **of_organization)
            turns.require_budget(agent.daily_budget, agent=agent.name, **of_organization)
        model = agent.model(row, secrets)
    except BudgetUsed as used:
        message = "The budget of the day is used up."
        raise ApiError(429, message, headers={"Retry-After": str(used.seconds)}) from None
    except SealBroken:
        log.exception("language_model_key_unreadable")
        raise ApiError(503, "The key of the language model cannot be read.") from None
    tools = {one.name: one for one in _tools(who) if agent.may_have(one)}
    return Allowed(agent, who, model, tools, has_own_key)


def _require_key(option: str, secrets: Mapping[str, str]) -> None:
    key = secrets.get(option, "")
    if not key:
        message = f"agent.options.{option} must be your own key for the language model."
        raise InvalidAgentRequest(message)
    if not language_models.is_key(key):
        raise InvalidAgentRequest(f"agent.options.{option} must be of visible ASCII characters.")


def _build_sent(allowed: Allowed, chosen: ChosenOptions) -> Sent:
    return Sent(allowed.model.name, chosen.secrets, allowed.has_own_key)


def _prepare_run(
    session: Session,
    row: SessionTurn,
    stream: StreamMode,
    allowed: Allowed,
    resolved: Sequence[Resolved],
    *,
    is_new: bool = True,
) -> Started:
    running = RunningTurn(
        model=allowed.model,
        instructions=allowed.agent.build_instructions(session.options),
        options=dict(session.options),
        limits=allowed.agent.limits,
        reads_images=allowed.agent.reads_images,
        resolved=resolved,
        session_id=session.pk if is_new else "",
    )
    return Started(
        session_id=session.pk,
        turn_id=row.pk,
        stream=stream,
        running=running,
        allowed=allowed,
        chosen=[ServerTool(one["name"], one["trust"]) for one in session.tools],
        client_tools=[
            ClientTool(one["name"], one.get("title", ""), one["description"], one["inputSchema"])
            for one in session.client_tools
        ],
    )


def _parse_body(request: AgentRequest) -> Any:
    try:
        found = strict_json.parse(request.body)
    except ProtocolError as error:
        raise ApiError(400, f"The body is not valid JSON: {error.message}") from None
    if has_unstorable_text(found):
        raise InvalidAgentRequest("The body has a character that cannot be stored.")
    return found


def _session(who: Principal, session_id: str) -> Session:
    found = sessions.find(_owner(who), session_id)
    if found is None:
        raise _no_session()
    return found


@dataclass(frozen=True, slots=True)
class _Query:
    """The parameters of a request: of one that is sent twice, the last; others are ignored."""

    query: str

    def text(self, name: str) -> str:
        return parse_qs(self.query).get(name, [""])[-1]

    def choice(self, name: str, known: Sequence[str]) -> str:
        """Returns one of the known values, by default the first. Raises InvalidAgentRequest."""
        value = self.text(name) or known[0]
        if value not in known:
            listed = ", ".join(filter(None, known))
            raise InvalidAgentRequest(f"{name} must be one of: {listed}.")
        return value

    def number(self, name: str) -> int | None:
        """Returns a whole number of at least one. Raises InvalidAgentRequest."""
        value = self.text(name)
        if not value:
            return None
        is_number = value.isascii() and value.isdecimal() and len(value) <= MAX_DIGITS
        if not is_number or int(value) < 1:
            raise InvalidAgentRequest(f"{name} must be a number, and at least 1.")
        return int(value)


def _invalid_cursor() -> InvalidAgentRequest:
    return InvalidAgentRequest("The cursor is not valid.")


def _no_session() -> ApiError:
    return ApiError(404, "Session not found.")


def _owner(who: Principal) -> Owner:
    return Owner(who.organization_id, who.token_id)


def _tools(who: Principal) -> list[Tool]:
    """The tools that the key may call, under names that every model provider accepts."""
    offered = visibility.filter_visible(SURFACE.catalogue.tools(who.organization_id), who, SURFACE)
    return [registry.alias_tool(tool) for tool in offered]


def _require_known(turn: TurnRequest, allowed: Allowed) -> None:
    if requests.has_image(turn.messages) and not allowed.agent.reads_images:
        raise InvalidAgentRequest(f"The agent {allowed.agent.name!r} reads no images.")
    for one in turn.tools or ():
        if one.name not in allowed.tools:
            raise InvalidAgentRequest(f"The agent has no tool {one.name!r}. GET /meta lists them.")
    for client_tool in turn.client_tools or ():
        if client_tool.name in allowed.tools:
            raise InvalidAgentRequest(f"The agent has a tool {client_tool.name!r} already.")


def _idempotency_key(request: AgentRequest) -> str:
    """Returns the digest of the client's key, which may be any text, such as an email address."""
    key = request.headers.get("idempotency-key", "")
    rule = f"{idempotency.HEADER} must be up to 255 printable ASCII characters."
    idempotency.check_key(key, KEY, rule)
    return ids.sha256_hex(key) if key else ""


def _repeat_message(before: sessions.AlreadySent) -> str:
    if not before.is_same:
        return "The Idempotency-Key was used with another body."
    return "This request was sent before. GET the session for its result."


Handler = Callable[..., AgentReply | Started]
HANDLERS: Final[Mapping[tuple[str, int], Mapping[str, Handler]]] = {
    ("meta", 1): {"GET": meta},
    ("sessions", 1): {"GET": list_sessions},
    ("session", 1): {"PUT": create_session},
    ("session", 2): {
        "GET": read_session,
        "POST": continue_session,
        "DELETE": delete_session,
    },
}
