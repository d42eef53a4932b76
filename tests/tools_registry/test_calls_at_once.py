"""Many calls at the same moment, against the real server: limits hold and switches hold."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from tests.drivers.accounts import open_account
from tests.drivers.oauth_client import REGISTER, TOKEN, OAuthClient
from tests.drivers.person import Person
from tests.drivers.server import Server

pytestmark = [pytest.mark.process, pytest.mark.sqlite]

CAP, THREADS = 120, 24
CALLBACK = "http://127.0.0.1:33418/callback"


def call(url: str, token: str, tool: str) -> int:
    """The JSON-RPC error code of a call, or 0 for success."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool}}
    bearer = {"Authorization": f"Bearer {token}"}
    reply = httpx2.post(url, json=message, headers=bearer, timeout=60)
    assert reply.status_code in {200, 429}, reply.text
    return int(reply.json().get("error", {"code": 0})["code"])


def make_access_token(server: Server) -> str:
    """A fresh access token of the owner of a new organization."""
    document = {"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"}
    client = OAuthClient(redirect_uri=CALLBACK)
    registered = httpx2.post(server.url + REGISTER, json=document, timeout=60)
    client.client_id = registered.json()["client_id"]
    person = Person(email=open_account(server.env).email)
    location = person.open(server.url + client.authorize_address())
    person.browser.close()
    code = parse_qs(urlsplit(location).query)["code"][0]
    proof = {"code": code, "code_verifier": client.verifier, "client_id": client.client_id}
    sent = {"grant_type": "authorization_code", **proof}
    return str(httpx2.post(server.url + TOKEN, data=sent, timeout=60).json()["access_token"])


def codes_at_once(server: Server) -> Counter[int]:
    token = make_access_token(server)
    with ThreadPoolExecutor(THREADS) as pool:
        codes = pool.map(
            lambda _: call(server.mcp_url, token, "setup_get_jwt_sample"), range(CAP + THREADS)
        )
        return Counter(codes)


@pytest.mark.parametrize("cap", [pytest.param(CAP, id="V07")])
def test_of_many_calls_at_once_exactly_as_many_pass_as_the_cap_allows(
    cap: int, server: Server
) -> None:
    assert codes_at_once(server) == {0: cap, -32002: THREADS}
