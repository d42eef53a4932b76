"""Refusals name an integration by its title, as pages do, and never by its id."""

import pytest

from mcp_protocol.revisions import REVISIONS, Revision
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tools_registry import registry
from tools_registry.admin import why
from tools_registry.api import Toolset

INTEGRATIONS = registry.integration_toolsets()
each_integration = pytest.mark.parametrize(
    "toolset", INTEGRATIONS, ids=lambda toolset: toolset.integration
)


def get_refusal(grant: Grant, toolset: Toolset, revision: Revision = Revision.V2025_03_26) -> str:
    tool = next(one for one in toolset.tools if not one.destructive)
    message: str = McpClient(grant.token(), revision).call(tool.name).error["message"]
    return message


@each_integration
@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_an_integration_that_is_not_connected_is_named_by_its_title(
    grant: Grant, toolset: Toolset, revision: Revision
) -> None:
    assert get_refusal(grant, toolset, revision) == f"{toolset.title} is not connected."


@each_integration
def test_actions_that_are_turned_off_are_named_by_the_title(grant: Grant, toolset: Toolset) -> None:
    grant.connect(toolset.integration, actions_on=False)
    message = f"{toolset.title} actions are turned off for this organization."
    assert get_refusal(grant, toolset) == message


@each_integration
def test_an_action_that_is_not_enabled_is_named_with_the_title(
    grant: Grant, toolset: Toolset
) -> None:
    grant.connect(toolset.integration, enabled=())
    tool = next(one for one in toolset.tools if not one.destructive)
    expected = f"The {toolset.title} action {tool.action} is not enabled on the Ask AI agent."
    assert get_refusal(grant, toolset) == expected


@each_integration
def test_why_names_integrations_by_their_title(toolset: Toolset) -> None:
    tool = toolset.tools[0]
    lines = [why._pass_message(layer, tool) for layer in ("connection", "integration")]
    lines += [why._remedy(layer, tool)[0] for layer in ("connection", "integration")]
    assert all(toolset.title in line for line in lines)
    assert not any(toolset.integration in line for line in lines)
