"""A strict client made of Authlib, which knows nothing of this product."""

import re
from dataclasses import dataclass
from typing import Any, Self, cast
from urllib.parse import parse_qsl, urlsplit

import requests
from authlib.common.security import generate_token
from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2 import rfc8414, rfc9207

from tests.clients.strict_flow import (
    ACCEPTED,
    ASKED,
    CALLBACK,
    NARROWED,
    TOOLS_LIST,
    FlowOutcome,
    Journey,
    Refused,
)

SECONDS = 30


@dataclass(frozen=True)
class Traveller:
    """A registered client with the metadata it found."""

    journey: Journey
    resource: str
    metadata: dict[str, Any]
    session: Any
    registered: dict[str, Any]

    @classmethod
    def registered_at(cls, journey: Journey) -> Self:
        resource = discover_resource(journey.mcp_url)
        metadata = fetch_server_metadata(resource["authorization_servers"][0])
        registered = registration(metadata["registration_endpoint"], journey.auth_method)
        method = registered["token_endpoint_auth_method"]
        session = OAuth2Session(
            registered["client_id"],
            registered.get("client_secret"),
            token_endpoint_auth_method=method,
            revocation_endpoint_auth_method=method,
            scope=ASKED,
            redirect_uri=CALLBACK,
            code_challenge_method="S256",
            default_timeout=SECONDS,
        )
        return cls(journey, resource["resource"], metadata, session, registered)

    def connect(self) -> dict[str, Any]:
        verifier = generate_token(64)
        address, state = self.session.create_authorization_url(
            self.metadata["authorization_endpoint"], code_verifier=verifier, resource=self.resource
        )
        answer = self.journey.browser(address)
        self.check(answer)
        tokens = self.session.fetch_token(
            self.metadata["token_endpoint"],
            authorization_response=answer,
            state=state,
            code_verifier=verifier,
            resource=self.resource,
        )
        return dict(tokens)

    def check(self, answer: str) -> None:
        """RFC 9207 section 2.4, which Authlib leaves to its caller; then the error, if any."""
        pairs = parse_qsl(urlsplit(answer).query, strict_parsing=True)
        given = dict(pairs)
        assert len(given) == len(pairs)
        assert self.metadata["authorization_response_iss_parameter_supported"] is True
        assert given["iss"] == self.metadata["issuer"]
        if "error" in given:
            raise Refused(given["error"])

    def refresh(self, token: str) -> dict[str, Any]:
        endpoint = self.metadata["token_endpoint"]
        return dict(self.session.refresh_token(endpoint, token, scope=NARROWED))

    def revoke(self, token: str) -> None:
        reply = self.session.revoke_token(self.metadata["revocation_endpoint"], token)
        assert (reply.status_code, reply.content) == (200, b"")


def travel(journey: Journey) -> FlowOutcome:
    """Go the whole way. Raises Refused where the person says no."""
    client = Traveller.registered_at(journey)
    with client.session:
        first = client.connect()
        tools = list_tools(journey.mcp_url, first["access_token"]).json()["result"]["tools"]
        second = client.refresh(first["refresh_token"])
        return FlowOutcome(
            auth_method=client.registered["token_endpoint_auth_method"],
            secret="client_secret" in client.registered,
            scopes=(first["scope"], second["scope"]),
            tools=tuple(tool["name"] for tool in tools),
            rotated=first["refresh_token"] != second["refresh_token"],
            refused=end_family(client, first["refresh_token"], second["refresh_token"]),
            status=list_tools(journey.mcp_url, second["access_token"]).status_code,
        )


def discover_resource(mcp_url: str) -> dict[str, Any]:
    """The resource's metadata, found by its challenge (RFC 9728 section 5.1)."""
    challenge = list_tools(mcp_url, "unknown").headers["WWW-Authenticate"]
    named = re.search(r'resource_metadata="([^"]+)"', challenge)
    assert named, challenge
    document = fetch_json(named[1])
    assert document["resource"] == mcp_url
    return document


def fetch_server_metadata(issuer: str) -> dict[str, Any]:
    """The authorization server's metadata as Authlib validates it, member by member."""
    metadata = fetch_json(rfc8414.get_well_known_url(issuer, external=True))
    assert metadata["issuer"] == issuer
    rfc8414.AuthorizationServerMetadata(metadata).validate(
        metadata_classes=[rfc9207.AuthorizationServerMetadata]
    )
    return metadata


def registration(endpoint: str, auth_method: str) -> dict[str, Any]:
    asked: dict[str, Any] = {
        "client_name": "Authlib",
        "redirect_uris": [CALLBACK],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": auth_method,
    }
    reply = requests.post(endpoint, json=asked, timeout=SECONDS)
    assert reply.status_code == 201, reply.text
    return cast("dict[str, Any]", reply.json())


def end_family(client: Traveller, first: str, newest: str) -> str:
    """End the family; returns the error code with which one more refresh is refused."""
    if client.journey.ending == "revoke":
        client.revoke(newest)
    else:
        client.refresh(newest)  # or the first one would be a repeated request, and no replay
    spent = newest if client.journey.ending == "revoke" else first
    try:
        client.refresh(spent)
    except OAuthError as error:
        return str(error.error)
    return ""


def fetch_json(address: str) -> dict[str, Any]:
    reply = requests.get(address, timeout=SECONDS, allow_redirects=False)
    assert (reply.status_code, reply.headers["Content-Type"]) == (200, "application/json")
    return cast("dict[str, Any]", reply.json())


def list_tools(mcp_url: str, token: str) -> requests.Response:
    headers = {"Authorization": f"Bearer {token}", "Accept": ACCEPTED}
    return requests.post(mcp_url, json=TOOLS_LIST, headers=headers, timeout=SECONDS)
