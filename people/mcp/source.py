"""The tools of the HR endpoint as a source; they are the same for every workspace."""

from collections.abc import Sequence
from uuid import UUID

from tools_registry.api import Prompt, Resource, ResourceTemplate, Skill, Tool


def _tools() -> Sequence[Tool]:
    from people.mcp import tools  # noqa: PLC0415  with the HR API, which is slow to import

    return tools.all_tools()


class HrTools:
    """What every workspace offers."""

    def find(self, name: str, organization_id: UUID) -> Tool | None:  # noqa: ARG002  the port's
        return next((tool for tool in _tools() if tool.name == name), None)

    def tools(self, organization_id: UUID) -> Sequence[Tool]:  # noqa: ARG002  the port's
        return _tools()

    def find_resource(self, uri: str, organization_id: UUID) -> Resource | None:  # noqa: ARG002  the port's
        return None

    def resources(self, organization_id: UUID) -> Sequence[Resource]:  # noqa: ARG002  the port's
        return ()

    def templates(self, organization_id: UUID) -> Sequence[ResourceTemplate]:  # noqa: ARG002  the port's
        return ()

    def prompts(self, organization_id: UUID) -> Sequence[Prompt]:  # noqa: ARG002  the port's
        return ()

    def skills(self, organization_id: UUID) -> Sequence[Skill]:  # noqa: ARG002  the port's
        return ()
