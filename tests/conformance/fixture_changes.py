"""The suite's tool that changes what there is: it flips a switch, as an admin would."""

from typing import Final
from uuid import UUID

from tests.conformance.fixture_content import NOTHING, text
from tools_registry.api import Arguments, Blocks, ToolContext, Toolset
from tools_registry.models import ActionToggle, ConnectionState, IntegrationMode
from workspace import changes
from workspace.models import Agent, AgentKind

CHANGES: Final = Toolset(scope="docs:read", title="Conformance: changes")
CHANGING: Final = Toolset(integration="changing", title="Changing")


@CHANGING.tool(title="Come and go", description="There or not.", input_schema=NOTHING)
def come_and_go(_context: ToolContext, _arguments: Arguments) -> Blocks:
    return Blocks([text("Here now.")])


@CHANGES.tool(
    title="Change the tools",
    description="Switches a tool on or off, so that the list is another.",
    input_schema=NOTHING,
)
def test_trigger_tool_change(context: ToolContext, _arguments: Arguments) -> Blocks:
    organization_id = UUID(context.organization_id)
    mode, _ = IntegrationMode.objects.get_or_create(
        organization_id=organization_id,
        integration=CHANGING.integration,
        defaults={"connection": ConnectionState.CONNECTED, "actions_on": False},
    )
    agent = Agent.objects.get(organization_id=organization_id, kind=AgentKind.ASK_AI)
    ActionToggle.objects.get_or_create(
        agent=agent,
        integration=CHANGING.integration,
        action=come_and_go.__name__,
        defaults={"enabled": True},
    )
    mode.actions_on = not mode.actions_on
    mode.save(update_fields=["actions_on"])
    changes.publish([organization_id])
    return Blocks([text(f"The tool is {'on' if mode.actions_on else 'off'} now.")])
