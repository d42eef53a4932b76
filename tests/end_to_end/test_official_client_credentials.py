"""The official client signs in as a service client, against the real server process."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.streamable_http import streamable_http_client

from tests.clients.token_storage import MemoryTokenStorage
from tests.drivers.evaluation import evaluate
from tests.drivers.server import Server

pytestmark = pytest.mark.process

# Creates a service client of the organization of the first start, and a key for it.
CREATE = """
import json
import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from oauth import scopes
from oauth.clients import assertions, service_clients
from workspace.models import Organization, User

organization = Organization.objects.order_by("created_at").first()
owner = User.objects.filter(memberships__organization=organization).first()
key = ec.generate_private_key(ec.SECP256R1())
public = jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
created = service_clients.create(
    organization, name="Pipeline", method="{method}", scope=scopes.parse("docs:read"),
    jwks=assertions.parse_keys(json.dumps({{"keys": [public]}})), user=owner, address="",
)
pem = key.private_bytes(
    serialization.Encoding.PEM,
    serialization.PrivateFormat.PKCS8,
    serialization.NoEncryption(),
).decode()
print(json.dumps([created.row.client.client_id, created.secret or pem]))
"""


async def list_tools(server: Server, auth: Any) -> list[str]:
    async with httpx2.AsyncClient(timeout=30, auth=auth) as http:
        transport = streamable_http_client(server.mcp_url, http_client=http)
        async with Client(transport) as client:
            return [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_the_official_client_signs_in_with_a_client_secret(server: Server, method: str) -> None:
    client_id, secret = created_client(server, method)
    auth = ClientCredentialsOAuthProvider(
        server.mcp_url, MemoryTokenStorage(), client_id, secret, method, issuer=server.url
    )
    assert "search_docs" in asyncio.run(list_tools(server, auth))


def test_the_official_client_signs_in_with_a_private_key(server: Server) -> None:
    client_id, pem = created_client(server, "private_key_jwt")
    signed = SignedJWTParameters(
        issuer=client_id, subject=client_id, signing_algorithm="ES256", signing_key=pem
    )
    auth = PrivateKeyJWTOAuthProvider(
        server.mcp_url,
        MemoryTokenStorage(),
        client_id,
        signed.create_assertion_provider(),
        issuer=server.url,
    )
    assert "search_docs" in asyncio.run(list_tools(server, auth))


def created_client(server: Server, method: str) -> tuple[str, str]:
    client_id, secret = json.loads(evaluate(server.env, CREATE.format(method=method)))
    return client_id, secret
