"""Parses authorization requests, in the order that decides where errors are reported.

Until the redirect URI is known to belong to the client, errors are shown to the user on a page of
this server; after that they are sent to the client by redirect (RFC 6749 section 4.1.2.1).
"""

from dataclasses import dataclass, field

from django.conf import settings

from oauth import addresses, scopes
from oauth.clients import cimd, clients, redirects
from oauth.consent import grantable
from oauth.endpoints.forms import QueryParameters
from oauth.errors import (
    InvalidRequest,
    InvalidScope,
    InvalidTarget,
    RequestNotSupported,
    RequestUriNotSupported,
    UnsupportedResponseType,
)
from oauth.grants import pkce
from oauth.models import Client
from oauth.scopes import ScopeSet


class UnsafeRequest(Exception):
    """The client or its redirect URI is unknown, so the response must not redirect."""

    def __init__(self, problem: str, *, client: Client | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.client = client


@dataclass(frozen=True, slots=True)
class ReturnAddress:
    """The redirect URI of the client and the state to return."""

    client: Client
    redirect_uri: str
    state: str | None

    def location(self, params: list[tuple[str, str]]) -> str:
        """Returns the redirect with these parameters, `state` and `iss` (RFC 9207 section 2)."""
        state = [] if self.state is None else [("state", self.state)]
        return redirects.with_parameters(
            self.redirect_uri, [*params, *state, ("iss", addresses.issuer())]
        )


@dataclass(frozen=True, slots=True)
class AuthorizationParameters:
    """A valid request, which may be shown to the user."""

    back: ReturnAddress
    scope: ScopeSet
    resource: str
    code_challenge: str
    prompt: frozenset[str]
    # What the client asked for by name, here or at its registration.
    named: ScopeSet = field(default_factory=ScopeSet)
    # None of the requested scopes is known: the default is offered, and the page says so.
    is_scope_replaced: bool = False

    @property
    def must_not_ask(self) -> bool:
        """Returns whether the client requires no page (OpenID Connect Core 3.1.2.1)."""
        return self.prompt == {"none"}

    @property
    def must_ask(self) -> bool:
        """Returns whether the client requires the page, for consent or for another account.

        The page serves `consent`, `login` and `select_account` alike, since it names the account
        and offers to switch it. An unknown value requires the page too, and so do scopes that the
        client did not request.
        """
        return self.is_scope_replaced or bool(self.prompt - {"none"})


def must_fetch(query: QueryParameters) -> bool:
    """Returns whether this server would have to fetch the client's metadata document."""
    client_id = query.values.get("client_id")
    return cimd.is_metadata_url(client_id) and cimd.needs_fetch(client_id)


def return_address(query: QueryParameters, *, asker: str, address: str) -> ReturnAddress:
    """Returns the client and its redirect URI; `asker` and `address` are of the user.

    Raises UnsafeRequest; InvalidClient and ServerBusy for a client with a metadata document.
    """
    client = _client(query, asker, address)
    redirect_uri = _redirect_uri(query, client)
    return ReturnAddress(client, redirect_uri, query.values.get("state"))


def read(query: QueryParameters, back: ReturnAddress) -> AuthorizationParameters:
    """Parses the request. Raises the OAuthError to redirect with."""
    if repeated := query.duplicated - {"resource"}:
        raise InvalidRequest(f"{min(repeated)[:60]} must not be sent more than once.")
    if "\0" in (back.state or ""):
        raise InvalidRequest("state must not contain a NUL character.")
    _require_code_flow(query)
    challenge = pkce.check_challenge(
        query.once("code_challenge"), query.once("code_challenge_method")
    )
    prompt = _prompt(query)
    resource = _resource(query)
    project_id = addresses.project_of(resource)
    requested = _requested_scope(query, project_id)
    scope = requested or default_scope(back.client, project_id)
    if not scope:
        raise InvalidScope("None of the requested scopes is known to this server.")
    is_replaced = requested is not None and not requested
    text = query.verbatim("scope")
    named = scopes.parse(back.client.scope if text is None else text)
    return AuthorizationParameters(back, scope, resource, challenge, prompt, named, is_replaced)


def default_scope(client: Client, project_id: str | None) -> ScopeSet:
    """Returns what a request without a known scope is for: what the client registered, if any."""
    if project_id is None:
        return grantable.for_resource(client.scope or settings.HALO_DEFAULT_SCOPE, None)
    # A client that registered for the workspace may use a project, too.
    registered = str(grantable.for_resource(client.scope, project_id))
    return grantable.for_resource(registered, project_id)


def _client(query: QueryParameters, asker: str, address: str) -> Client:
    if "client_id" in query.duplicated:
        raise UnsafeRequest("client_id must not be sent more than once.")
    client_id = query.values.get("client_id")
    if cimd.is_metadata_url(client_id):
        return cimd.resolve(client_id, asker=asker, address=address)
    client = clients.find(client_id)
    if client is None:
        raise UnsafeRequest("unknown client")
    return client


def _redirect_uri(query: QueryParameters, client: Client) -> str:
    if "redirect_uri" in query.duplicated:
        raise UnsafeRequest("redirect_uri must not be sent more than once.", client=client)
    asked = query.values.get("redirect_uri")
    if asked is None and len(client.redirect_uris) == 1:
        # RFC 6749 section 3.1.2.3: with one registered URI the parameter may be left out.
        return str(client.redirect_uris[0])
    if asked is None or redirects.matches(client.redirect_uris, asked) is None:
        raise UnsafeRequest("unregistered redirect_uri", client=client)
    return asked


def _require_code_flow(query: QueryParameters) -> None:
    if query.once("request") is not None:
        raise RequestNotSupported("Request objects are not supported.")
    if query.once("request_uri") is not None:
        raise RequestUriNotSupported("Request objects (request_uri) are not supported.")
    if query.once("response_type") is None:
        raise InvalidRequest("response_type is required.")
    if query.once("response_type") != "code":
        raise UnsupportedResponseType("response_type must be code.")
    if query.once("response_mode") not in {None, "query"}:
        raise InvalidRequest("response_mode must be query.")


def _prompt(query: QueryParameters) -> frozenset[str]:
    prompt = frozenset((query.once("prompt") or "").split(" ")) - {""}
    if "none" in prompt and len(prompt) > 1:  # OpenID Connect Core 3.1.2.1
        raise InvalidRequest("prompt=none must not be combined with other values.")
    return prompt


def _requested_scope(query: QueryParameters, project_id: str | None) -> ScopeSet | None:
    """Returns what is known of the requested scopes, or None if none is requested.

    Unknown scopes are dropped, even if none is left: the default is offered then, and the response
    of the token endpoint names what was granted (RFC 6749 section 3.3). With an error, clients that
    always request scopes of OpenID Connect could not connect.
    """
    text = query.verbatim("scope")
    return None if text is None else grantable.for_resource(text, project_id)


def _resource(query: QueryParameters) -> str:
    if "resource" in query.duplicated:
        raise InvalidTarget("Send resource only once.")
    given = query.once("resource")
    # Clients of MCP 2025-03-26 send no resource; the scopes of one project name it.
    project_id = None if given else grantable.only_project(query.verbatim("scope") or "")
    if project_id is not None:
        return addresses.resource(f"/{project_id}")
    return addresses.canonical_resource(given)
