"""What the functions of an author are given for a caller, and what that caller may see."""

from collections.abc import Iterable
from typing import Any, Final, TypeVar
from uuid import UUID

from django.conf import settings

from foundation import ids
from foundation.db.statements import Statement
from oauth.principal import Principal
from tools_registry import registry
from tools_registry.api import Channel, Guarded, Silence, Tool, ToolContext, WidgetKeys
from tools_registry.pipeline import gate
from tools_registry.pipeline.surface import Surface
from workspace.models import Organization

WIDGET_KEY: Final = Statement("SELECT widget_key FROM workspace_organization WHERE id = %s")

Offered = TypeVar("Offered", bound=Guarded)


class OrganizationFacts:
    """Facts about their organization that tools may read (`tools_registry.api.Workspace`)."""

    def widget_keys(self, organization_id: str) -> WidgetKeys:
        row = WIDGET_KEY.row(UUID(organization_id))
        if row is None:
            raise Organization.DoesNotExist
        return WidgetKeys(
            organization_id=organization_id,
            widget_key=row[0],
            script_url=settings.HALO_WIDGET_SCRIPT_URL,
        )


ORGANIZATION_FACTS: Final = OrganizationFacts()


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


def context(
    who: Principal, surface: Surface, channel: Channel | None = None, **more: Any
) -> ToolContext:
    """What a function of an author is given for a caller; `more` where it is called."""
    return ToolContext(
        organization_id=ids.text(who.organization_id),
        user_id=ids.text(who.user_id),
        credential_id=ids.text(who.token_id),
        public_url=settings.HALO_PUBLIC_URL,
        workspace=ORGANIZATION_FACTS,
        channel=channel or Silence(),
        visible_tools=lambda: tools(who, surface),
        **more,
    )
