"""Every tool of this product, given arguments that fit its schema and arguments that do not.

A new tool is among them by being there. Behind an integration stands a vendor that talks nonsense.
"""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.models import ActionExecution
from foundation.limits import Limit
from mcp_protocol.revisions import REVISIONS, Revision
from tests.drivers import schema_values
from tests.drivers.fake_vendors import site
from tests.drivers.fake_vendors.connected import connect_toolset
from tests.drivers.fake_vendors.site import Site, saying
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient, Reply
from tools_registry import registry
from tools_registry.api import Tool
from tools_registry.api.schemas import validator_of
from tools_registry.vendors import retries

FUZZ = settings(
    max_examples=25,
    deadline=None,
    # One database and one vendor serve every example on purpose.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
NATIVE = [tool for toolset in registry.native_toolsets() for tool in toolset.tools]
TOOLS = [tool for tool in NATIVE if not tool.destructive]
INTEGRATIONS = [toolset for toolset in registry.native_toolsets() if toolset.integration]
AS_RESULT = (Revision.V2025_11_25, Revision.V2026_07_28)
# What may come of a call that no schema could have refused.
CLEAR = {"success", "validation_failed", "not_found", "integration_error", "input_required"}
STATUSES = st.sampled_from([200, 201, 204, 400, 401, 403, 404, 409, 422])
NONSENSE = st.builds(saying, schema_values.JUNK, STATUSES)


@pytest.fixture(autouse=True)
def _high_limits(settings: Any) -> None:
    for name in ("TOOLS_CALL", "IP"):
        setattr(settings, f"HALO_RATE_{name}", Limit(1_000_000, 60))


@pytest.fixture
def vendor(grant: Grant, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    # Requested waits before a retry are not waited for: over all examples they would add up.
    monkeypatch.setattr(retries, "MAX_WAIT_SECONDS", 0)
    with site.serving(Site()) as serving:
        settings.HALO_VENDOR_URLS = {each.integration: serving.url for each in INTEGRATIONS}
        for toolset in INTEGRATIONS:
            connect_toolset(grant, toolset, "a-credential", **_settings(toolset.connection))
        yield serving


def _settings(connection: Any) -> dict[str, str]:
    return {one.name: "Anything" for one in connection.settings}


def message(reply: Reply, revision: Revision) -> dict[str, Any]:
    """Code, field and reason of a refusal, where this revision puts them."""
    assert reply.status == 200, reply.body
    if revision not in AS_RESULT:
        return {"code": reply.code, **reply.error.get("data", {})}
    assert reply.result["isError"] is True, reply.body
    (block,) = reply.result["content"]
    facts: dict[str, Any] = json.loads(block["text"])
    return facts


def _refused_by_lenient(arguments: dict[str, Any]) -> bool:
    """Whether no value may count as a missing argument, or as the number that it spells."""
    texts = [value.strip() for value in arguments.values() if isinstance(value, str)]
    numbers = [text for text in texts if text.lstrip("-").replace(".", "").isdigit()]
    return None not in arguments.values() and "" not in texts and not numbers


def _has_no_absent(tool: Tool, arguments: dict[str, Any]) -> bool:
    """Whether no optional argument is null or empty, which counts as a missing one."""
    required = tool.input_schema.get("required", ())
    return all(
        name in required or not (value is None or (isinstance(value, str) and not value.strip()))
        for name, value in arguments.items()
    )


def row() -> ActionExecution:
    return ActionExecution.objects.latest("id")


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
@FUZZ
@given(data=st.data(), revision=st.sampled_from(REVISIONS))
def test_arguments_that_fit_come_to_a_clear_end(
    mcp: McpClient, vendor: Site, tool: Tool, data: Any, revision: Revision
) -> None:
    vendor.usual = data.draw(NONSENSE)
    arguments = data.draw(schema_values.fitting(tool.input_schema))
    reply = mcp.with_revision(revision).call(tool.name, arguments)
    assert reply.status == 200
    assert row().outcome in CLEAR, (row().outcome, row().detail, reply.body)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
@FUZZ
@given(data=st.data(), revision=st.sampled_from(REVISIONS))
def test_arguments_that_do_not_fit_are_refused_by_field_and_reason(
    mcp: McpClient, vendor: Site, tool: Tool, data: Any, revision: Revision
) -> None:
    near = schema_values.invalid_objects(tool.input_schema)
    is_refused = _refused_by_lenient if tool.is_lenient else partial(_has_no_absent, tool)
    arguments = data.draw(near.filter(is_refused))
    answer = message(mcp.with_revision(revision).call(tool.name, arguments), revision)
    assert answer["code"] == -32602
    assert isinstance(answer.get("field", ""), str)
    assert answer["reason"]
    assert (row().outcome, row().reason) == ("validation_failed", "validation")
    assert vendor.seen == []


@FUZZ
@given(data=st.data())
def test_what_is_made_to_fit_fits_and_what_is_made_not_to_does_not(data: Any) -> None:
    tool = data.draw(st.sampled_from(NATIVE))
    judge = validator_of(tool.input_schema)
    assert judge.is_valid(data.draw(schema_values.fitting(tool.input_schema)))
    odd = data.draw(schema_values.invalid_objects(tool.input_schema))
    assert schema_values.has_unstorable_text(odd) or not judge.is_valid(odd)
