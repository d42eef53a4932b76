"""The error of a failed call, and generated arguments that must all be answered with one."""

import json
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from audit.models import ActionExecution
from foundation.limits import Limit
from tests.drivers.mcp import McpClient, Reply
from tools_registry.api import Tool
from tools_registry.api.model_arguments import leave_out_absent
from tools_registry.api.schemas import validator_of

FUZZ = settings(
    max_examples=40,
    deadline=None,
    # One database serves every example on purpose.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
# Any code point, lone surrogates and NUL among them.
TEXT = st.text(st.characters(exclude_categories=()), max_size=30)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)


def message(reply: Reply) -> dict[str, Any]:
    """Code, message and data of a failed call, wherever the revision puts them."""
    assert reply.status == 200, reply.body
    if "error" in reply.json:
        error = reply.error
        return {"code": error["code"], "message": error["message"], **error.get("data", {})}
    assert reply.result["isError"] is True, reply.body
    (block,) = reply.result["content"]
    facts: dict[str, Any] = json.loads(block["text"])
    return facts


def row() -> ActionExecution:
    return ActionExecution.objects.latest("id")


def arguments_like(tool: Tool, *examples: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Arguments that come near a schema: its own keys, with fitting values and junk, and others."""
    known: Any = tool.input_schema["properties"]
    values = {
        name: JUNK | st.sampled_from([*examples, *schema.get("enum", ["x"])])
        for name, schema in known.items()
    }
    near = st.fixed_dictionaries({}, optional=values)
    return st.one_of(near, st.builds(lambda a, b: {**a, **b}, near, st.dictionaries(TEXT, JUNK)))


def answers_clearly(mcp: McpClient, tool: Tool, arguments: dict[str, Any]) -> None:
    """A call succeeds, or says which field is wrong and why, or that there is no such thing."""
    reply = mcp.call(tool.name, arguments)
    if "result" in reply.json and not reply.result["isError"]:
        read = leave_out_absent(tool.input_schema, arguments)
        assert validator_of(tool.input_schema).is_valid(read)
        return
    answer = message(reply)
    if answer["code"] == -32602:
        assert answer["reason"]
        assert isinstance(answer.get("field", ""), str)
    else:
        assert answer["code"] == -32601, answer


def raise_limits(settings: Any) -> None:
    """A fuzz asks more often than a client may."""
    for name in ("TOOLS_CALL", "IP"):
        setattr(settings, f"HALO_RATE_{name}", Limit(1_000_000, 60))
