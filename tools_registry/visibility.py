"""What a caller may see: of everything offered, what the gate would not refuse now."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from django.conf import settings

from mcp_protocol import tool_shapes
from mcp_protocol.revisions import MODERN
from mcp_protocol.strict_json import dumps
from oauth.principal import Principal
from tools_registry import gate, registry
from tools_registry.organization_facts import OrganizationFacts
from tools_registry.types import Channel, Guarded, Silence, Tool, ToolContext

WORKSPACE = OrganizationFacts()

Offered = TypeVar("Offered", bound=Guarded)


def among(offered: Iterable[Offered], who: Principal) -> list[Offered]:
    """Those that a call would not refuse, in the order given; one statement for all switches."""
    switches = gate.all_switches(who.organization_id, mcp_server_on=who.mcp_server_on)
    return [one for one in offered if gate.decide(one, who.scope, switches).allowed]


def tools(who: Principal) -> list[Tool]:
    """The tools of a caller, under the names that lists show (HALO_TOOL_NAMES)."""
    visible = among(registry.tools(who.organization_id), who)
    if settings.HALO_TOOL_NAMES == "dotted":
        return visible
    return [replace(tool, name=registry.alias(tool.name)) for tool in visible]


def digest(who: Principal) -> bytes:
    """Sixteen bytes that differ when the list of tools that the principal would get does."""
    descriptors = [tool_shapes.tool_descriptor(tool, MODERN[-1]) for tool in tools(who)]
    return hashlib.sha256(dumps(descriptors)).digest()[:16]


def context(who: Principal, channel: Channel | None = None) -> ToolContext:
    """What a function of an author is given for a caller."""
    return ToolContext(
        organization_id=str(who.organization_id),
        user_id=str(who.user_id),
        public_url=settings.HALO_PUBLIC_URL,
        workspace=WORKSPACE,
        channel=channel or Silence(),
        visible_tools=lambda: tools(who),
    )
