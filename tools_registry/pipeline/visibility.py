"""What a caller may see of what a surface offers."""

from collections.abc import Iterable
from typing import TypeVar

from django.conf import settings

from oauth.principal import Principal
from tools_registry import registry
from tools_registry.api import Guarded, Tool
from tools_registry.pipeline import gate
from tools_registry.pipeline.invocation import Surface

Offered = TypeVar("Offered", bound=Guarded)


def filter_visible(offered: Iterable[Offered], who: Principal, surface: Surface) -> list[Offered]:
    """Those that a call would not refuse, in the order given; one statement for all switches."""
    switches = gate.all_switches(who.organization_id, mcp_server_on=who.mcp_server_on)
    return [one for one in offered if gate.decide(one, who.scope, switches, surface).allowed]


def tools(who: Principal, surface: Surface) -> list[Tool]:
    """The tools of a caller, under the names that lists show (HALO_TOOL_NAMES)."""
    visible = filter_visible(surface.catalogue.tools(who.organization_id), who, surface)
    if settings.HALO_TOOL_NAMES == "dotted":
        return visible
    return [registry.alias_tool(tool) for tool in visible]
