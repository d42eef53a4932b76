"""A surface that speaks MCP over HTTP, and the first one: the workspace server at /api/mcp."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from django.conf import settings

from mcp_protocol import errors, handshake_shapes
from mcp_protocol.capabilities import SERVER_NAME, ServerInfo
from mcp_protocol.errors import ErrorCodes
from mcp_protocol.methods import RateBucket
from mcp_protocol.strict_json import JsonObject
from oauth import credentials, mcp_tokens, principal
from oauth.addresses import MCP_PATH
from oauth.endpoints import challenges
from tools_registry import registry
from tools_registry.icons import with_icons
from tools_registry.pipeline.call_tasks import CallTasks
from tools_registry.pipeline.invocation import Surface
from tools_registry.pipeline.surfaces import WORKSPACE_NAME

INSTRUCTIONS: Final = (
    "Tools of one organization. Search the documentation with search_docs and open a page with "
    "read_doc. Tools that change something say so in their annotations; destructive actions are "
    "never available here. A refusal names its reason and the layer that refused."
)


def _sign_in_first(_host: str) -> str:
    return "Sign in first: this endpoint needs a valid bearer token."


class SurfaceChallenges(Protocol):
    """The WWW-Authenticate challenges of a surface; `host` is the one that the request came to."""

    def unauthorized_challenge(self, error: str | None = None, *, host: str) -> str: ...

    def insufficient_scope(self, scope: str, *, host: str) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class McpSurface(Surface):
    """What MCP over HTTP needs to know of an endpoint besides.

    Refusals of a layer in `refused_as_results` are results of tools with `isError`.

    `limits` names the setting with the rate limit of each group of methods. `descriptor` is the
    body of a GET, which is refused without one, and `bare_initialize` the answer to `initialize`
    without params. `credential_hint` returns the message of a 401, for the host of the request.
    `tasks` are the calls that go on without their request, on a surface that has such calls.
    """

    limits: Mapping[RateBucket, str]
    codes: ErrorCodes
    challenges: SurfaceChallenges
    server: Callable[[], ServerInfo]
    instructions: str
    server_name: str = SERVER_NAME
    descriptor: Callable[[], JsonObject] | None
    bare_initialize: Callable[[], JsonObject]
    refused_as_results: frozenset[str] = frozenset()
    credential_hint: Callable[[str], str] = _sign_in_first
    tasks: CallTasks | None = None


def _server() -> ServerInfo:
    return with_icons(ServerInfo(website_url=settings.HALO_PUBLIC_URL))


def _descriptor() -> JsonObject:
    return handshake_shapes.descriptor(settings.HALO_PUBLIC_URL)


WORKSPACE_SURFACE: Final = McpSurface(
    name=WORKSPACE_NAME,
    credentials={
        principal.ACCESS_TOKEN: credentials.ACCESS_TOKEN_VERIFIERS[principal.ACCESS_TOKEN],
        mcp_tokens.PREFIX: mcp_tokens.verifier(MCP_PATH),
    },
    catalogue=registry.WORKSPACE_CATALOGUE,
    limits={
        "tools_list": "HALO_RATE_TOOLS_LIST",
        "tools_call": "HALO_RATE_TOOLS_CALL",
        "other": "HALO_RATE_OTHER",
    },
    codes=errors.HALO,
    challenges=challenges,
    server=_server,
    instructions=INSTRUCTIONS,
    descriptor=_descriptor,
    bare_initialize=handshake_shapes.bare_initialize_result,
)
