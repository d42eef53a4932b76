"""What a caller may see: of everything offered, what the gate would not refuse now."""

import hashlib
from collections.abc import Iterable
from typing import Any, TypeVar

from django.conf import settings

from foundation import ids
from mcp_protocol.revisions import MODERN
from mcp_protocol.strict_json import dumps
from oauth.principal import Principal
from tools_registry import descriptors, gate, registry
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
    return [descriptors.under_alias(tool) for tool in visible]


def digest(who: Principal) -> bytes:
    """Sixteen bytes that differ when the list of tools that the principal would get does."""
    told = [descriptors.told(tool, MODERN[-1]) for tool in tools(who)]
    return hashlib.sha256(dumps(told)).digest()[:16]


def context(who: Principal, channel: Channel | None = None, **more: Any) -> ToolContext:
    """What a function of an author is given for a caller; `more` where it is called."""
    return ToolContext(
        organization_id=ids.text(who.organization_id),
        user_id=ids.text(who.user_id),
        public_url=settings.HALO_PUBLIC_URL,
        workspace=WORKSPACE,
        channel=channel or Silence(),
        visible_tools=lambda: tools(who),
        **more,
    )
