"""A message with its caller and its terms, and how the params of a request are read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar, cast
from uuid import UUID

from mcp_protocol import failures, negotiation
from mcp_protocol.envelope import (
    JsonRpcNotification,
    JsonRpcRequest,
    JsonRpcResponse,
    Malformed,
    Message,
    RequestId,
)
from mcp_protocol.errors import ProtocolError
from mcp_protocol.headers import VERSION_HEADER, HeaderLookup
from mcp_protocol.meta_keys import META
from mcp_protocol.negotiation import Terms
from mcp_protocol.revisions import MODERN, UNDECLARED, Revision
from oauth.principal import Principal
from tools_registry.api.answers import NONE_YET
from tools_registry.endpoint import paging, replies, request_state, sessions
from tools_registry.endpoint.http import HttpRequest, Stream
from tools_registry.endpoint.paging import Key, ListPage, PagedList
from tools_registry.endpoint.replies import Reply
from tools_registry.endpoint.request_state import SealedFor
from tools_registry.endpoint.sessions import McpSession
from tools_registry.endpoint.surface import McpSurface
from tools_registry.pipeline import binding, calls, gate
from tools_registry.pipeline.call_kinds import CallKind, CallSubject
from tools_registry.pipeline.invocation import Invocation, PreparedCall

Listed = TypeVar("Listed")

# The caller's, in `_meta` (docs/mcp-endpoint.md).
IDEMPOTENCY_KEY: Final = "idempotency_key"
MAX_KEY_LENGTH: Final = 200


@dataclass(slots=True, eq=False)
class MethodRequest:
    """One message of an identified caller, and the HTTP request that it came in.

    `terms` are set once they are negotiated, for requests only. A request that waits for its
    client keeps what its response needs (`forget`).
    """

    http: HttpRequest
    principal: Principal
    session: McpSession | None
    message: Message
    terms: Terms = field(init=False)

    @property
    def surface(self) -> McpSurface:
        return self.http.surface

    @property
    def headers(self) -> HeaderLookup:
        return self.http.header

    @property
    def params(self) -> Mapping[str, Any]:
        """The params of a request or notification; empty for any other message."""
        message = self.message
        return message.params if isinstance(message, JsonRpcRequest | JsonRpcNotification) else {}

    @property
    def method(self) -> str:
        message = self.message
        return message.method if isinstance(message, JsonRpcRequest | JsonRpcNotification) else ""

    @property
    def id(self) -> RequestId:
        """The id of a request; no other message has one that a response could name."""
        return cast("JsonRpcRequest", self.message).id

    @property
    def authorization_id(self) -> UUID:
        return self.principal.authorization_id

    @property
    def revision(self) -> Revision:
        return self.terms.revision

    @property
    def fallback_revision(self) -> Revision:
        """The revision of a message that names none."""
        return UNDECLARED if self.session is None else sessions.get_revision(self.session)

    @property
    def refusal_revision(self) -> Revision:
        """The revision to word a refusal in before the message is understood."""
        if self.http.header(VERSION_HEADER) is None:
            return self.fallback_revision
        return self.http.declared_revision

    @property
    def error_revision(self) -> Revision:
        """The revision to word an error in, for messages that could not be negotiated too."""
        message = self.message
        if isinstance(message, Malformed | JsonRpcResponse):
            return self.refusal_revision
        try:
            header = self.http.header(VERSION_HEADER)
            return negotiation.negotiate(header, message, self.fallback_revision).revision
        except ProtocolError:
            return self.refusal_revision

    def require_server_on(self) -> None:
        """Raises ProtocolError while the MCP server is turned off, where that is a layer."""
        is_on, surface = self.principal.mcp_server_on, self.surface
        decision = gate.flag(mcp_server_on=is_on or "flag" not in surface.layers)
        if not decision.allowed:
            raise failures.refusal(
                decision.reason,
                decision.layer,
                decision.message,
                self.error_revision,
                surface.codes,
                http_status=403,
            )

    @property
    def can_wait(self) -> bool:
        """Whether a question can be sent on the response, which then waits for the answer."""
        return self.http.lasting and self.http.accepts("text/event-stream")

    def forget(self) -> None:
        """Drop the bearer, the body and the params: the request may stay for hours."""
        self.http.forget()
        self.message = JsonRpcRequest(self.id, self.method)

    def prepare(
        self,
        kind: CallKind,
        name: str,
        arguments: Mapping[str, Any],
        check: Callable[[CallSubject], None] | None = None,
        *,
        takes_task: bool = False,
    ) -> Reply | PreparedCall:
        """Prepare the call of this request: refused and recorded, or ready to run.

        Raises ProtocolError for a `requestState` that belongs to another request.
        """
        http, who, params, revision = self.http, self.principal, self.params, self.terms.revision
        meta = params.get(META, {})  # an object: `negotiation` has read it
        # Only what names a customer: a call may wait for minutes, and keeps no more of `_meta`.
        bound = {} if binding.BINDING_KEYS.isdisjoint(meta) else binding.select_keys(meta)
        answers = NONE_YET
        # Answers come with the request at 2026-07-28 only; earlier revisions have no such params.
        is_repeated = revision in MODERN
        if is_repeated and ("requestState" in params or "inputResponses" in params):
            purpose = SealedFor(who.authorization_id, kind.method, name, arguments, binding=bound)
            answers = request_state.read(purpose, params)
        invocation = Invocation(
            surface=http.surface,
            principal=who,
            kind=kind,
            name=name,
            arguments=arguments,
            binding=bound,
            client_capabilities=self.terms.client_capabilities,
            answers=answers,
            is_repeated=is_repeated,
            idempotency_key=_idempotency_key(meta),
            takes_task=takes_task,
            request_id=http.request_id,
            protocol=revision.value,
            address=http.address,
        )
        step = calls.prepare(invocation, check)
        if isinstance(step, PreparedCall):
            return step
        host = http.header("host") or ""
        return replies.from_outcome(invocation, step, revision, http.surface, host=host)

    def page(
        self,
        things: Sequence[Listed],
        key: Callable[[Listed], Key],
        size: Callable[[Listed], int] | None = None,
    ) -> ListPage[Listed]:
        """The page of a list that this request asks for (`paging.page`)."""
        place = PagedList(self.principal.authorization_id, self.method)
        return paging.page(things, key, place, self.params.get("cursor"), size)


Handler: TypeAlias = Callable[[MethodRequest], Reply | PreparedCall | Stream]


def _idempotency_key(meta: Mapping[str, Any]) -> str:
    """The idempotency key in `_meta`, empty if there is none. Raises ProtocolError."""
    key = meta.get(IDEMPOTENCY_KEY)
    if isinstance(key, str) and 0 < len(key) <= MAX_KEY_LENGTH:
        return key
    if IDEMPOTENCY_KEY in meta:
        message = f"`{IDEMPOTENCY_KEY}` must be a text of 1 to {MAX_KEY_LENGTH} characters."
        raise failures.invalid_field(IDEMPOTENCY_KEY, message)
    return ""


def text_in(params: Mapping[str, Any], key: str) -> str:
    """A member that has to be text and not empty. Raises ProtocolError."""
    value = params.get(key)
    if not isinstance(value, str) or not value:
        raise failures.invalid_field(key, f"`{key}` is missing.", "must be a non-empty string")
    return value


def object_in(params: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A member that has to be an object if it is there. Raises ProtocolError."""
    value = params.get(key, {})
    if not isinstance(value, dict):
        raise failures.invalid_field(key, f"`{key}` must be an object.", "must be an object")
    return value
