"""Fetches and validates the metadata document of a client."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.utils import timezone

from foundation import outbound
from foundation.outbound import OutboundError, OutboundReply, RefusedAddress, TimedOut, Unreachable
from mcp_protocol import strict_json
from mcp_protocol.errors import ProtocolError
from oauth.clients.cimd import client_url, freshness
from oauth.clients.client_metadata import UNNAMED, ClientMetadata
from oauth.errors import (
    InvalidClient,
    InvalidClientMetadata,
    InvalidRedirectUri,
    UnreachableClient,
)
from oauth.models import AuthMethod

OK: Final = 200
ACCEPT: Final = {"accept": "application/json, application/*+json;q=0.9"}
JSON: Final = re.compile(r"application/(?:[!#$&^_.+a-z0-9-]+\+)?json", re.ASCII)
SECRETS: Final = ("client_secret", "client_secret_expires_at")
KEYS: Final = ("jwks", "jwks_uri")

# This includes a refused address: a page of its own would reveal which internal names exist.
NO_ANSWER: Final = (Unreachable, TimedOut, RefusedAddress)
UNREACHABLE: Final = "The client's metadata document cannot be fetched."
UNFIT: Final = "The metadata document cannot be accepted."
PUBLIC_ONLY: Final = (
    "Clients with a metadata document are public here: its token_endpoint_auth_method must be "
    "none, or its token_endpoint_auth_methods_supported must hold it."
)


@dataclass(frozen=True, slots=True)
class ClientDocument:
    """The metadata of a client, and the time until which it is fresh."""

    metadata: ClientMetadata
    lifetime: timedelta


def fetch(url: str) -> ClientDocument:
    """Fetches and parses the document of a checked client id.

    Raises InvalidClient, and UnreachableClient if there was no response. The cause is only in
    `debug`: the page must not reveal this server's network (the draft, 6.5).
    """
    try:
        reply = outbound.fetch("GET", url, headers=ACCEPT, policy=client_url.policy(url))
    except NO_ANSWER as error:
        raise UnreachableClient(
            UNREACHABLE, client_id=url, host=error.host, debug=error.reason
        ) from error
    except OutboundError as error:
        raise InvalidClient(UNREACHABLE, debug=error.reason) from error
    _check_reply(reply)
    metadata = parse(reply.body, url)
    return ClientDocument(metadata, freshness.lifetime(reply.headers, now=timezone.now()))


def parse(body: bytes, url: str) -> ClientMetadata:
    """Parses the body found at `url`. Raises InvalidClient with a reason for the client's author.

    Source: the draft, section 4.1; MCP client-registration, "Implementation Requirements".
    """
    stated = _members(body)
    if stated.get("client_id") != url:  # simple string comparison (RFC 3986 section 6.2.1)
        raise InvalidClient("The client_id in the metadata document is not its address.")
    _require_public(stated)
    metadata = _metadata(stated)
    if metadata.client_name == UNNAMED:
        raise InvalidClient("The metadata document holds no client_name.")
    return metadata


def _check_reply(reply: OutboundReply) -> None:
    if reply.status != OK:
        raise InvalidClient(UNREACHABLE, debug=f"the answer has status {reply.status}")
    media_type = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not JSON.fullmatch(media_type):
        raise InvalidClient("The metadata document is not served as application/json.")


def _members(body: bytes) -> dict[str, Any]:
    """Returns the members of the JSON object; null counts as absent."""
    try:
        document = strict_json.parse(body)
    except ProtocolError as error:
        raise InvalidClient("The metadata document is not valid JSON.") from error
    if not isinstance(document, dict):
        raise InvalidClient("The metadata document is not a JSON object.")
    return {name: value for name, value in document.items() if value is not None}


def _require_public(stated: Mapping[str, Any]) -> None:
    """Raises InvalidClient for a client that authenticates with a secret or a key.

    Treating such a client as public would drop a protection that it relies on (the draft, 4.1 and
    6.2). A client that lists `none` among its methods, as ChatGPT does, is accepted. Source of that
    list: OpenID Connect RP Metadata Choices 1.0, section 2.
    """
    if any(name in stated for name in SECRETS):
        raise InvalidClient("A metadata document must hold no client secret.")
    # A document with keys and no method does not say that they are optional.
    unsaid = AuthMethod.NONE if not any(name in stated for name in KEYS) else None
    method = stated.get("token_endpoint_auth_method", unsaid)
    choices = stated.get("token_endpoint_auth_methods_supported")
    if AuthMethod.NONE not in [method, *(choices if isinstance(choices, list) else [])]:
        raise InvalidClient(PUBLIC_ONLY)


def _metadata(stated: Mapping[str, Any]) -> ClientMetadata:
    ours = {"token_endpoint_auth_method": AuthMethod.NONE.value}
    try:
        return ClientMetadata.parse({**stated, **ours}, app_schemes=settings.HALO_APP_SCHEMES)
    except InvalidRedirectUri as refused:
        # Not its hint, which repeats the URI: this page shows no text of the client.
        raise InvalidClient(f"{UNFIT} {refused.why}") from refused
    except InvalidClientMetadata as refused:
        raise InvalidClient(f"{UNFIT} {refused.hint}") from refused
