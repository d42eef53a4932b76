"""Reading an authorization request, in the order that decides who is told of an error.

Until the redirect URI is known to be the client's, errors go to the person on a page of ours;
after that they go to the client by redirect (RFC 6749 section 4.1.2.1).
"""

from dataclasses import dataclass

from django.conf import settings

from oauth import addresses, cimd, clients, pkce, redirects, scopes
from oauth.errors import (
    InvalidRequest,
    InvalidScope,
    InvalidTarget,
    RequestNotSupported,
    RequestUriNotSupported,
    UnsupportedResponseType,
)
from oauth.forms import Query
from oauth.models import Client
from oauth.scopes import ScopeSet


class UnsafeRequest(Exception):
    """The request names no client or no redirect of that client: it must not redirect."""

    def __init__(self, problem: str, *, client: Client | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.client = client


@dataclass(frozen=True, slots=True)
class ReturnAddress:
    """Where answers go: a redirect URI that is the client's, and the state to hand back."""

    client: Client
    redirect_uri: str
    state: str | None

    def location(self, params: list[tuple[str, str]]) -> str:
        """The redirect with these parameters, `state` verbatim and `iss` (RFC 9207 section 2)."""
        state = [] if self.state is None else [("state", self.state)]
        return redirects.with_parameters(
            self.redirect_uri, [*params, *state, ("iss", addresses.issuer())]
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that may be put before a person."""

    back: ReturnAddress
    scope: ScopeSet
    resource: str
    code_challenge: str
    prompt: frozenset[str]

    @property
    def must_not_ask(self) -> bool:
        """Whether the client wants an answer without any page (OpenID Connect Core 3.1.2.1)."""
        return self.prompt == {"none"}

    @property
    def must_ask(self) -> bool:
        """Whether the client wants the person asked: to consent, or who they are.

        The page does for `consent`, `login` and `select_account` alike, since it names the account
        and lets somebody else sign in. A value unknown here asks too.
        """
        return bool(self.prompt - {"none"})


def must_fetch(query: Query) -> bool:
    """Whether this server would have to fetch who asks: the client's metadata document."""
    client_id = query.values.get("client_id")
    return cimd.is_metadata_url(client_id) and cimd.needs_fetch(client_id)


def return_address(query: Query, *, asker: str, address: str) -> ReturnAddress:
    """Who asks and where answers go; `asker` and `address` are of the person at the browser.

    Raises UnsafeRequest; InvalidClient and ServerBusy for a client with a metadata document.
    """
    client = _client(query, asker, address)
    redirect_uri = _redirect_uri(query, client)
    return ReturnAddress(client, redirect_uri, query.values.get("state"))


def read(query: Query, back: ReturnAddress) -> Asked:
    """What is asked for. Raises the OAuthError to redirect with."""
    if repeated := query.duplicated - {"resource"}:
        raise InvalidRequest(f"{min(repeated)[:60]} was sent more than once.")
    if "\0" in (back.state or ""):
        raise InvalidRequest("state holds a NUL character.")
    _require_code_flow(query)
    challenge = pkce.check_challenge(
        query.once("code_challenge"), query.once("code_challenge_method")
    )
    prompt = _prompt(query)
    return Asked(back, _scope(query, back.client), _resource(query), challenge, prompt)


def _client(query: Query, asker: str, address: str) -> Client:
    if "client_id" in query.duplicated:
        raise UnsafeRequest("client_id was sent more than once.")
    client_id = query.values.get("client_id")
    if cimd.is_metadata_url(client_id):
        return cimd.resolve(client_id, asker=asker, address=address)
    client = clients.find(client_id)
    if client is None:
        raise UnsafeRequest("unknown client")
    return client


def _redirect_uri(query: Query, client: Client) -> str:
    if "redirect_uri" in query.duplicated:
        raise UnsafeRequest("redirect_uri was sent more than once.", client=client)
    asked = query.values.get("redirect_uri")
    if asked is None and len(client.redirect_uris) == 1:
        # RFC 6749 section 3.1.2.3: with one registered URI the parameter may be left out.
        return str(client.redirect_uris[0])
    if asked is None or redirects.matches(client.redirect_uris, asked) is None:
        raise UnsafeRequest("unregistered redirect_uri", client=client)
    return asked


def _require_code_flow(query: Query) -> None:
    if query.once("request") is not None:
        raise RequestNotSupported("Request objects are not supported.")
    if query.once("request_uri") is not None:
        raise RequestUriNotSupported("Request objects are not supported.")
    if query.once("response_type") is None:
        raise InvalidRequest("response_type is missing.")
    if query.once("response_type") != "code":
        raise UnsupportedResponseType("The only response type is code.")
    if query.once("response_mode") not in {None, "query"}:
        raise InvalidRequest("The only response mode is query.")


def _prompt(query: Query) -> frozenset[str]:
    prompt = frozenset((query.once("prompt") or "").split(" ")) - {""}
    if "none" in prompt and len(prompt) > 1:  # OpenID Connect Core 3.1.2.1
        raise InvalidRequest("prompt=none goes with no other value.")
    return prompt


def _scope(query: Query, client: Client) -> ScopeSet:
    text = query.verbatim("scope")
    if text is None:
        text = client.scope or settings.HALO_DEFAULT_SCOPE
    asked = scopes.parse(text)
    if not asked:
        raise InvalidScope("None of these scopes is known here.")
    return asked


def _resource(query: Query) -> str:
    if "resource" in query.duplicated:
        raise InvalidTarget("Name one resource.")
    return addresses.canonical_resource(query.once("resource"))
