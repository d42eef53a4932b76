"""Bindings of two organizations at the same moment, against the real server."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from tests.drivers.fixture_server import Laboratory

pytestmark = pytest.mark.process

THREADS, CALLS = 12, 400
SAME = "same@example.com"
TWO = f"""
import json
from tests.drivers import grants

def describe_grant(grant):
    customer = grant.customer(email="{SAME}", name=grant.organization.name)
    return {{"token": grant.token(), "customer": customer.pk, "name": customer.name}}

print(json.dumps([describe_grant(grants.make_grant()), describe_grant(grants.make_grant())]))
"""


@dataclass(frozen=True)
class BindingTenant:
    token: str
    customer: str
    name: str


def call(client: httpx2.Client, url: str, tenant: BindingTenant, meta: dict[str, str]) -> Any:
    params = {"name": "whom", "arguments": {}, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    reply = client.post(url, json=message, headers={"Authorization": f"Bearer {tenant.token}"})
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_l08_calls_of_two_organizations_at_once_stay_apart(laboratory: Laboratory) -> None:
    first, second = (BindingTenant(**reported) for reported in json.loads(laboratory.evaluate(TWO)))
    url = laboratory.server.mcp_url

    def one(client: httpx2.Client, turn: int) -> None:
        mine, theirs = (first, second) if turn % 2 else (second, first)
        own = call(client, url, mine, {"bound_email": SAME})["result"]["content"][0]["text"]
        assert (json.loads(own)["id"], json.loads(own)["name"]) == (mine.customer, mine.name)
        refused = call(client, url, mine, {"bound_end_user_id": theirs.customer})
        assert refused["error"]["data"]["reason"] == "binding_rejected"

    with httpx2.Client(timeout=60) as client, ThreadPoolExecutor(THREADS) as pool:
        assert len(list(pool.map(lambda turn: one(client, turn), range(CALLS)))) == CALLS
