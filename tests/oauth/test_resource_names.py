"""Which texts name this deployment, seen from a public address (RFC 8707 section 2)."""

from typing import Any

import pytest

from oauth import addresses
from oauth.errors import InvalidTarget

PUBLIC = "https://halo.example"
MCP = f"{PUBLIC}/api/mcp"


@pytest.fixture(autouse=True)
def _public(settings: Any) -> None:
    settings.HALO_PUBLIC_URL = PUBLIC


@pytest.mark.parametrize(
    "given",
    [
        None,
        MCP,
        f"{MCP}/",
        PUBLIC,
        f"{PUBLIC}/",
        "HTTPS://Halo.Example/api/mcp",
        "https://halo.example:443/api/mcp",
    ],
)
def test_this_deployment_has_one_canonical_name(given: str | None) -> None:
    assert addresses.canonical_resource(given) == MCP


@pytest.mark.parametrize(
    "given",
    [
        "",
        "halo.example/api/mcp",
        "http://halo.example/api/mcp",
        "https://halo.example:0/api/mcp",
        "https://halo.example:8443/api/mcp",
        "https://halo.example:99999/api/mcp",
        "https://halo.example.evil.example/api/mcp",
        "https://halo.example@evil.example/api/mcp",
        "https://user@halo.example/api/mcp",
        "https://localhost/api/mcp",
        f"{PUBLIC}/API/MCP",
        f"{PUBLIC}/api/mcp/x",
        f"{PUBLIC}/api/../api/mcp",
        f"{MCP}?",
        f" {MCP}",
        f"{MCP}\n",
        "https://halo.example/api\t/mcp",
        "https://halo.example\u200b/api/mcp",
        f"{MCP}?x=1",
        f"{MCP}#",
        "https://[::1",
        "\x00",
    ],
)
def test_nothing_else_names_it(given: str) -> None:
    with pytest.raises(InvalidTarget):
        addresses.canonical_resource(given)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:443", "evil.example", "halo.example:0"])
def test_a_public_deployment_has_no_second_name(host: str) -> None:
    assert addresses.resource_as_reached(host) == MCP


def test_the_case_of_the_host_is_what_the_person_typed() -> None:
    assert addresses.resource_as_reached("HALO.example") == "https://HALO.example/api/mcp"
