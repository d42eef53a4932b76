"""Names with dots and their aliases, for hosts that refuse dots."""

from typing import Any
from uuid import UUID

import pytest

from audit.models import ActionExecution
from mcp_protocol.revisions import REVISIONS, Revision
from mcp_protocol.tool_shapes import tool_descriptor
from tests.drivers.fixture_tools import NOTHING
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tools_registry import registry
from tools_registry.api import Arguments, Facts, ToolContext, Toolset

pytestmark = pytest.mark.usefixtures("lab")


@pytest.fixture(autouse=True)
def _crm_connection(grant: Grant) -> None:
    grant.connect("crm", enabled=("find_contact", "create_deal"))


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize("listed", ["dotted", "underscore"])
@pytest.mark.parametrize("name", ["crm.find_contact", "crm_find_contact"])
def test_a_call_may_use_either_name_and_is_recorded_under_one(
    mcp: McpClient, revision: Revision, listed: str, name: str, settings: Any
) -> None:
    settings.HALO_TOOL_NAMES = listed
    assert mcp.with_revision(revision).call(name).facts == {"contact": "c1"}
    row = ActionExecution.objects.get()
    assert (row.tool, row.integration, row.action) == ("crm.find_contact", "crm", "find_contact")


@pytest.mark.parametrize(
    ("listed", "names"),
    [
        ("dotted", ["crm.create_deal", "crm.find_contact"]),
        ("underscore", ["crm_create_deal", "crm_find_contact"]),
    ],
)
def test_a_setting_says_which_name_is_listed(
    mcp: McpClient, listed: str, names: list[str], settings: Any
) -> None:
    settings.HALO_TOOL_NAMES = listed
    assert [name for name in mcp.tool_names() if name.startswith("crm")] == names
    plan = mcp.request("prompts/get", {"name": "plan_lookups", "arguments": {"question": "x"}})
    assert f"- {names[1]}:" in plan.result["messages"][0]["content"]["text"]


def test_an_alias_opens_no_gate(mcp: McpClient, grant: Grant) -> None:
    grant.connect("crm", enabled=())
    assert mcp.call("crm_find_contact").error["data"]["reason"] == "agent_disabled"
    assert mcp.call("crm_delete_contact").error["data"]["reason"] == "destructive_blocked"


@pytest.mark.parametrize("name", ["crm__find_contact", "crm-find_contact", "crm.find.contact"])
def test_nothing_else_is_an_alias(mcp: McpClient, name: str) -> None:
    assert mcp.call(name).code == -32601


def test_an_alias_that_two_tools_share_names_neither(mcp: McpClient) -> None:
    first = Toolset(integration="a_b", title="One")
    second = Toolset(integration="a", title="Two")
    for toolset, name in ((first, "c"), (second, "b_c")):

        def run(_context: Any, _given: Any) -> Facts:
            return Facts(None)

        run.__name__ = name
        toolset.tool(title="T", description="D", input_schema=NOTHING)(run)
    with registry.including(first, second):
        assert mcp.call("a_b_c").code == -32601
        assert mcp.call("a_b.c").error["data"]["reason"] == "not_connected"


@pytest.mark.parametrize("order", [("dotted", "underscore"), ("underscore", "dotted")])
def test_neither_name_is_kept_for_the_other(
    mcp: McpClient, order: tuple[str, str], settings: Any
) -> None:
    names = []
    for settings.HALO_TOOL_NAMES in order:
        names.append([name for name in mcp.tool_names() if "find_contact" in name])
    assert dict(zip(order, names, strict=True)) == {
        "dotted": ["crm.find_contact"],
        "underscore": ["crm_find_contact"],
    }


def test_a_list_tells_each_tool_as_its_revision_does(mcp: McpClient) -> None:
    for revision in [*REVISIONS, *REVISIONS]:
        for message in mcp.with_revision(revision).request("tools/list").result["tools"]:
            tool = registry.WORKSPACE_CATALOGUE.find(message["name"], UUID(int=0))
            assert tool is not None
            assert message == tool_descriptor(tool, revision)


def test_another_tool_of_the_same_name_is_reported_as_it_is(mcp: McpClient) -> None:
    for words in ("the first", "the second"):
        with registry.including(_saying(words)):
            (message,) = [
                tool for tool in mcp.request("tools/list").result["tools"] if tool["name"] == "say"
            ]
        assert message["description"] == words


def _saying(words: str) -> Toolset:
    toolset = Toolset(scope="docs:read")
    toolset.tool(title="", description=words, input_schema=NOTHING)(say)
    return toolset


def say(_context: ToolContext, _arguments: Arguments) -> Facts:
    return Facts("said")


@pytest.mark.parametrize(
    "name",
    [
        "crm-find-contact",
        "CRM.FindContact",
        "mcp__halo__crm_find_contact",
        "halo_crm.find_contact",
        "crm_find_contacts",
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_tool(name: str, mcp: McpClient) -> None:
    refused = mcp.call(name)
    assert refused.code == -32601
    assert refused.error["message"] == f'Unknown tool: "{name}", perhaps "crm.find_contact".'


def test_an_unknown_name_is_not_answered_with_a_tool_that_the_caller_cannot_see(
    mcp: McpClient, grant: Grant
) -> None:
    grant.connect("crm", enabled=("create_deal",))
    assert "find_contact" not in mcp.call("crm-find-contact").error["message"].partition(",")[2]
    assert mcp.call("zzz").error["message"] == 'Unknown tool: "zzz".'
