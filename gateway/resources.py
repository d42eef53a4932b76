"""What a project is as a protected resource, for the consent page (`oauth.ports.Projects`)."""

from collections.abc import Iterable

from gateway import surface
from gateway.calling import UpstreamCall
from gateway.models import Project
from gateway.openapi import names
from oauth import ports
from oauth.ports import GrantableTool
from tools_registry.api import Tool


class GatewayProjects:
    """Reads names from the rows, and tools from the catalogue that lists and calls read."""

    def find(self, project_id: str) -> ports.GrantableProject | None:
        row = Project.objects.filter(pk=project_id).only("name", "organization").first()
        if row is None:
            return None
        tools = surface.get_for_project(row.pk).catalogue.tools(row.organization_id)
        return ports.GrantableProject(
            row.pk, row.name, row.organization_id, [_as_shown(tool) for tool in tools]
        )

    def names(self, project_ids: Iterable[str]) -> dict[str, str]:
        rows = Project.objects.filter(pk__in=set(project_ids))
        return dict(rows.values_list("pk", "name"))


def _as_shown(tool: Tool) -> GrantableTool:
    call = tool.run
    return GrantableTool(
        tool.name,
        tool.title,
        tool.description,
        is_read=not tool.mutates,
        is_destructive=isinstance(call, UpstreamCall)
        and names.is_destructive(call.operation.method, tool.name, is_read=call.is_read),
    )
