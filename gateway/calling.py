"""A call of a project's tool: one request to the project's API, and what its answer means.

Credentials, arguments and queries are never logged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import InterfaceError, OperationalError

from foundation import outbound
from foundation.db.optional_write import optional_write
from foundation.db.statements import Statement
from foundation.outbound import OutboundError, OutboundReply, Policy, RefusedRedirect, Unwanted
from foundation.outbound.client import is_redirect
from foundation.outbound.deadline import always_wanted
from foundation.outbound.request import REDIRECTABLE
from gateway import credentials, outbound_policy, servers
from gateway.credentials import CallAuthentication, MissingCredential
from gateway.openapi import answers, wire
from gateway.openapi.answers import UNKNOWN_OUTCOME
from gateway.openapi.shapes import OpenApiOperation, UpstreamRequest
from gateway.openapi.wire.names import DeclaredNames
from gateway.servers import UnconfirmedServer
from tools_registry.api import (
    Arguments,
    Blocks,
    Cancelled,
    Channel,
    IntegrationFailure,
    Json,
    NotFound,
    NotSent,
    Silence,
    ToolContext,
    Unauthorized,
    UpstreamOutcomeUnknown,
)
from tools_registry.api.secret_members import find_secrets
from tools_registry.pipeline.invocation import ConnectionLost

# With every call: an admin may have changed where calls go since the list was made.
TARGET: Final = Statement("""
SELECT target_url, authentication, servers
  FROM gateway_project
 WHERE id = %s AND organization_id = %s
""")


class CallWithoutCredential(Unauthorized, NotSent):
    """Nobody has entered the credential that a call needs: the API has refused nothing."""


@dataclass(frozen=True, slots=True)
class Unavailability:
    """Why a tool cannot be called at the moment, whatever its arguments are."""

    reason: str
    message: str


SERVER_NOT_CONFIRMED: Final = Unavailability(
    "server_not_confirmed",
    "The API's description sends this tool to a server at another address. An admin has to confirm "
    "that server before the tool can be called.",
)


@dataclass(frozen=True, slots=True, eq=False)
class UpstreamCall:
    """What a project's tool runs; `version` is that of the document, `refusal` why it cannot be.

    A tool with a refusal is found and never listed.
    """

    project_id: str
    tool_id: UUID
    name: str
    version: int
    is_read: bool
    operation: OpenApiOperation = field(repr=False)
    refusal: "Unavailability | None" = None
    declared: DeclaredNames = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "declared", DeclaredNames(self.operation))

    def prepare(self, organization_id: UUID, arguments: Arguments) -> "PreparedRequest":
        """Builds the request of a call, once.

        Raises ValidationFailure, NotFound for a missing project, NotSent for a server that is not
        confirmed.
        """
        row = TARGET.row(self.project_id, organization_id)
        if row is None:
            raise NotFound("The project does not exist.")
        target_url, authentication, confirmed = row
        try:
            base_url = servers.base_url(self.operation, target_url, servers.read(confirmed))
        except UnconfirmedServer:
            raise NotSent(SERVER_NOT_CONFIRMED.message) from None
        request = _build_request(self, arguments, {})
        return PreparedRequest(arguments, base_url, authentication, request)

    def __call__(self, context: ToolContext, /, **_arguments: Json) -> Blocks:
        """Sends the request that was prepared. Raises ToolFailure and Cancelled."""
        if not isinstance(context.outgoing, PreparedRequest):
            raise TypeError("a call of a project needs its prepared request")
        return send(
            self,
            context.outgoing,
            organization_id=UUID(context.organization_id),
            user_id=UUID(context.user_id),
            key=context.call_id,
            channel=context.channel,
            seconds=context.outgoing.seconds - context.waited,
        )


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """The request that a policy decides on, an approver reads and `send` sends.

    It has no credential; `arguments` are those it was built from.
    """

    arguments: Arguments = field(repr=False)
    base_url: str
    authentication: str
    request: UpstreamRequest

    @property
    def digest(self) -> str:
        return self.request.digest(self.base_url)

    @property
    def origin(self) -> str:
        return outbound_policy.origin(self.base_url)

    @property
    def seconds(self) -> float:
        return float(settings.HALO_GATEWAY_TIMEOUT_SECONDS)


def send(
    call: UpstreamCall,
    prepared: PreparedRequest,
    *,
    organization_id: UUID,
    user_id: UUID,
    key: str = "",
    channel: Channel | None = None,
    seconds: float | None = None,
) -> Blocks:
    """Sends one request and returns its result; `key` is the idempotency key of the call.

    `seconds` replaces HALO_GATEWAY_TIMEOUT_SECONDS.

    Raises Unauthorized without a credential and for a refused one, IntegrationFailure for no
    answer and for an error, Cancelled once the caller of a read has gone, ConnectionLost if the
    database fails before anything is sent.
    """
    try:
        auth = credentials.select_authentication(
            call.project_id,
            user_id,
            call.operation,
            prepared.base_url,
            prepared.authentication,
        )
    except MissingCredential as missing:
        raise _missing(call.project_id, missing) from None
    except (InterfaceError, OperationalError) as error:
        if call.is_read:
            raise  # the pipeline repeats it
        raise ConnectionLost from error
    request = prepared.request
    if auth.body:
        request = _build_request(call, prepared.arguments, auth.body)
    request = wire.with_idempotency_key(request, call.operation, key)
    url = f"{prepared.base_url}{auth.target(request.target)}"
    limits = outbound_policy.for_reads if call.is_read else outbound_policy.for_calls
    policy = limits(url)
    policy = policy if seconds is None else replace(policy, deadline=min(policy.deadline, seconds))
    reply = _reply(call, url, request, auth, policy=policy, channel=channel)
    private: list[str] = []
    if reply.status >= HTTPStatus.MULTIPLE_CHOICES:
        private = [*find_secrets(call.operation.full_schema, prepared.arguments)]
    return _result(call, prepared, reply, auth, organization_id, private=private)


def _build_request(
    call: UpstreamCall, arguments: Arguments, credential: Mapping[str, str]
) -> UpstreamRequest:
    """The request with what a credential adds to the body."""
    return wire.build(
        call.operation,
        arguments,
        declared=call.declared,
        hidden_fields=credential,
        max_upload_bytes=settings.HALO_GATEWAY_MAX_UPLOAD_BYTES,
    )


def _reply(
    call: UpstreamCall,
    url: str,
    request: UpstreamRequest,
    auth: CallAuthentication,
    *,
    policy: Policy,
    channel: Channel | None,
) -> OutboundReply:
    """What the API answers. A read is given up once its caller has gone; a write never is.

    A read that is redirected within the origin is answered there, else by the redirect.
    """
    asked = channel or Silence()
    try:
        reply = outbound.fetch(
            request.method,
            url,
            headers=_headers(request, auth),
            body=request.body,
            policy=policy,
            unwanted=asked.is_cancelled if call.is_read else always_wanted,
        )
    except RefusedRedirect as redirect:
        return OutboundReply(redirect.status, redirect.headers, b"", url)
    except Unwanted:
        raise Cancelled from None
    except OutboundError as error:
        # The reason is a fixed sentence; neither URL nor header is in it.
        message = f"The API at {error.host or 'the target URL'} gave no answer: {error.reason}."
        if error.was_sent and not call.is_read:
            raise UpstreamOutcomeUnknown(f"{message} {UNKNOWN_OUTCOME}") from None
        raise (IntegrationFailure if error.was_sent else NotSent)(message) from None
    if is_redirect(reply) and request.method in REDIRECTABLE and policy.max_redirects:
        message = f"The API redirected the request more than {policy.max_redirects} times."
        raise IntegrationFailure(message, upstream_status=reply.status)
    return reply


def _headers(request: UpstreamRequest, auth: CallAuthentication) -> dict[str, str]:
    """The headers of a request; those of the credential replace any other of the name."""
    headers: dict[str, str] = {}
    for name, value in request.headers:
        before = headers.get(name.lower())
        headers[name.lower()] = value if before is None else f"{before}, {value}"
    if auth.cookies:
        written = [f"{name}={value}" for name, value in auth.cookies]
        headers["cookie"] = "; ".join(filter(None, (headers.get("cookie", ""), *written)))
    return headers | auth.headers


def _result(
    call: UpstreamCall,
    prepared: PreparedRequest,
    reply: OutboundReply,
    auth: CallAuthentication,
    organization_id: UUID,
    *,
    private: Sequence[str],
) -> Blocks:
    with optional_write("credential_state_not_written"):
        # A 403 refuses one request, not the credential (RFC 9110 sections 15.5.2 and 15.5.4).
        if reply.status == HTTPStatus.UNAUTHORIZED and auth.has_keys(reply.url):
            for one in auth.used:
                credentials.mark_refused(one, organization_id)
        elif reply.status < HTTPStatus.BAD_REQUEST:
            for one in auth.used:
                credentials.works(one)
    return answers.result(
        reply.status,
        reply.headers,
        reply.body,
        call.operation,
        is_read=call.is_read,
        secrets=auth.secrets,
        private=private,
        max_bytes=settings.HALO_MAX_RESULT_BYTES,
        url=reply.url,
        arguments=prepared.arguments,
    )


def _missing(project_id: str, missing: MissingCredential) -> CallWithoutCredential:
    place = f"{settings.HALO_PUBLIC_URL}/projects/{project_id}/credentials"
    names = " and ".join(missing.schemes)
    return CallWithoutCredential(
        f"This tool needs a credential for the API ({names}). Add it at {place} ."
    )
