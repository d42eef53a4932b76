"""The pages that list things list exactly what there is."""

import re
import tomllib
from dataclasses import replace

import pytest

from audit.admin import ActionExecutionAdmin, SecurityEventAdmin
from audit.event_list import TOPICS
from audit.models import ActionExecution, ActorKind, Outcome, SecurityEvent
from mcp_protocol import errors, methods
from mcp_protocol.revisions import REVISIONS
from oauth.grants import codes, pairs
from oauth.scopes import ScopeSet, parse
from people.api import errors as hr_errors
from tests.docs.doc_pages import ROOT, page, section, table, words
from tests.drivers.data_tools import TOOLS
from tools_registry import registry
from tools_registry.api import Facts, Tool, ToolFailure, Toolset
from tools_registry.endpoint.surface import WORKSPACE_SURFACE
from tools_registry.pipeline import call_kinds, calls, gate
from tools_registry.pipeline.gate import Decision, Integration, Switches
from tools_registry.sources import docs, setup

CODES = sorted(
    value for name, value in vars(errors).items() if name.isupper() and isinstance(value, int)
)
NATIVE = {tool.name: tool for toolset in (docs.TOOLSET, setup.TOOLSET) for tool in toolset.tools}
INTEGRATIONS = [toolset for toolset in registry.native_toolsets() if toolset.integration]


def test_the_endpoint_page_says_which_method_each_revision_has() -> None:
    said = {
        (words([name])[0], revision)
        for name, *cells in table("mcp-endpoint", "Protocol revisions and methods")
        for revision, cell in zip(REVISIONS, cells, strict=True)
        if cell == "yes"
    }
    kind = methods.MethodKind.REQUEST
    assert said == {key for key, what in methods.METHODS.items() if what is kind}


def test_the_endpoint_page_lists_every_error_code() -> None:
    listed = [int(row[0]) for row in table("mcp-endpoint", "Error codes")]
    assert sorted(listed) == [code for code in CODES if code < 0]


def test_the_audit_page_lists_every_column_in_order_of_sense() -> None:
    listed = [words([row[0]])[0] for row in table("audit-log", "Columns")]
    assert sorted(listed) == sorted(field.attname for field in ActionExecution._meta.fields)


def test_the_audit_page_lists_every_outcome() -> None:
    assert words([row[0] for row in table("audit-log", "Outcomes")]) == Outcome.values


def test_every_reason_on_the_audit_page_belongs_to_an_outcome() -> None:
    outcomes = words([row[1] for row in table("audit-log", "Reasons")[:-1]])
    assert outcomes
    assert set(outcomes) <= set(Outcome.values)


def test_the_audit_page_names_every_filter_of_the_admin() -> None:
    text = section("audit-log", "Filter and search in the admin").lower()
    for one in ActionExecutionAdmin.list_filter:
        assert str(one.title) in text
    assert ActorKind.MCP_CLIENT.value in page("audit-log")


def test_the_events_page_lists_every_column() -> None:
    listed = words([row[0] for row in table("security-events", "One row a minute")])
    fields = [field.attname for field in SecurityEvent._meta.fields if field.attname != "id"]
    assert sorted(listed) == sorted(fields)
    text = page("security-events")
    for one in SecurityEventAdmin.list_filter:
        assert isinstance(one, str) or str(one.title) in text
    for label, _kinds in TOPICS.values():
        assert str(label).lower() in text.lower()


WRITE = Tool(
    name="crm.write",
    title="Write",
    description="Write something down.",
    input_schema={"type": "object"},
    run=lambda _context, _arguments: Facts(None),
    scope="actions:crm:write",
    integration="crm",
    action="write",
)
DELETE = replace(WRITE, destructive=True)


def _switches(state: Integration) -> Switches:
    return Switches(mcp_server_on=True, integrations={"crm": state})


def _decide(tool: Tool, scope: ScopeSet, switches: Switches) -> Decision:
    return gate.decide(tool, scope, switches, WORKSPACE_SURFACE)


ENABLED = frozenset({"write"})
# The one thing wrong in each case is what its layer looks at; all that comes after is wrong too.
LAYERS = [
    _decide(DELETE, ScopeSet(), Switches(mcp_server_on=False)),
    _decide(DELETE, ScopeSet(), Switches()),
    _decide(WRITE, ScopeSet(), Switches()),
    _decide(WRITE, ScopeSet(), _switches(Integration(actions_on=False, connected=True))),
    _decide(WRITE, ScopeSet(), _switches(Integration(actions_on=True, connected=True))),
    _decide(WRITE, ScopeSet(), _switches(Integration(True, True, ENABLED))),
    _decide(WRITE, parse("actions:crm:*"), _switches(Integration(True, True, ENABLED))),
]


def test_the_refusals_page_lists_the_layers_in_the_order_of_the_gate() -> None:
    listed = [
        tuple(words(row[1:3]))
        for row in table("refusals", "Why a call is refused: the layers in order")
    ]
    assert listed == [(one.reason, one.layer) for one in LAYERS if not one.allowed]
    assert LAYERS[-1].allowed


def test_the_tokens_page_states_prefixes_and_length() -> None:
    prefixes = words([row[1] for row in table("tokens", "Formats, and how long a token lives")])
    assert prefixes == [pairs.ACCESS, pairs.REFRESH, codes.PREFIX]
    assert f"{pairs.RANDOM_CHARACTERS} characters of base64url" in page("tokens")


@pytest.mark.parametrize("tool", NATIVE.values(), ids=lambda tool: tool.name)
def test_the_tools_page_lists_each_tool_with_its_scope(tool: Tool) -> None:
    assert f"| `{tool.name}` | `{tool.scope}` |" in page("tools")


def test_the_tools_page_lists_no_tool_that_is_not_there() -> None:
    listed = re.findall(r"(?m)^\| `(\w+)` \| `\w+:read` \|", page("tools"))
    own = [toolset for toolset in registry.native_toolsets() if not toolset.integration]
    built_in = {tool.name for toolset in own for tool in toolset.tools}
    assert sorted(listed) == sorted(NATIVE) == sorted(built_in - {tool.name for tool in TOOLS})


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_the_page_of_the_data_tools_lists_the_arguments_of_each_tool(tool: Tool) -> None:
    (row,) = [
        line for line in page("data-tools").splitlines() if line.startswith(f"| `{tool.name}`")
    ]
    shared = words([cells[0] for cells in table("data-tools", "Shared arguments")])
    named = {*words([row.split(" | ")[2]]), *shared}
    assert [name for name in tool.input_schema["properties"] if name not in named] == []


@pytest.mark.parametrize("tool", NATIVE.values(), ids=lambda tool: tool.name)
def test_the_tools_page_lists_each_argument_of_a_tool(tool: Tool) -> None:
    rows = [row[0] for row in table("tools", tool.name)]
    assert words(rows) == list(tool.input_schema["properties"])


@pytest.mark.parametrize("toolset", INTEGRATIONS, ids=lambda toolset: toolset.integration)
def test_the_page_of_an_integration_names_each_tool_and_each_setting(toolset: Toolset) -> None:
    assert toolset.connection
    message = page(toolset.integration)
    settings = [setting.name for setting in toolset.connection.settings]
    missing = [name for name in (tool.name for tool in toolset.tools) if name not in message]
    assert missing == []
    rows = table(toolset.integration, f"Connect {toolset.title}")
    assert words([row[0] for row in rows]) == settings


def test_the_architecture_page_lists_the_floors_that_are_enforced() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (floors,) = (one for one in contracts if "layers" in one and "containers" not in one)
    listed = [words([row[1]]) for row in table("architecture", "What it is made of")]
    named = [" | ".join(word.rstrip("/") for word in row) for row in listed]
    assert named == floors["layers"]


def test_the_architecture_page_names_every_package() -> None:
    roots = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "importlinter"
    ]["root_packages"]
    # Migrations are Django's, and `commands` is the only content of `management`.
    unnamed = {"migrations", "commands"}
    packages = {
        ".".join(found.parent.relative_to(ROOT).parts)
        for root in roots
        for found in (ROOT / root).rglob("__init__.py")
        if found.parent.name not in unnamed
    }
    packages |= {f"{root}.management" for root in roots if (ROOT / root / "management").is_dir()}
    listed = [words([row[0]]) for row in table("architecture", "Packages")]
    assert sorted(name for row in listed for name in row) == sorted(packages)


def test_every_file_that_the_architecture_page_names_exists() -> None:
    page = (ROOT / "docs/develop/architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z_/]+(?:\.py|/))`", page)
    assert len(named) > 40
    assert [name for name in named if not (ROOT / name).exists()] == []


def _kinds(failure: type[ToolFailure]) -> set[str]:
    below = (_kinds(kind) for kind in failure.__subclasses__())
    return {failure.kind}.union(*below)


def test_the_audit_page_lists_every_reason() -> None:
    listed = set(words([row[0] for row in table("audit-log", "Reasons")]))
    refused = {one.reason for one in LAYERS if not one.allowed}
    refused |= {"read_only"}  # a layer of the page "Ask your organization" alone
    limits = {"rate_limited"}
    rows = (call_kinds.CALL, call_kinds.READ, call_kinds.GET_PROMPT)
    limits |= {"grant_ended"}  # asked of approved requests alone
    reviewed = {"approval_required", "policy_denied", "quota_exceeded", "document_changed"}
    reviewed |= {"request_changed", "server_not_confirmed"}
    questions = {"input_required", "missing_capability"}
    ours = _kinds(ToolFailure) | set(calls.FAILURES) | refused | limits | questions | reviewed
    ours |= {row.unknown for row in rows} | set(hr_errors.STATUSES) - {"authentication_required"}
    assert listed - {"rpc_", "rpc_32601"} == ours
