"""How many tokens of a model the list of tools takes, counted by a tokenizer of a real model."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mcp_protocol.revisions import Revision
from tests.drivers import node
from tests.drivers.mcp import McpClient

pytestmark = [pytest.mark.django_db, pytest.mark.once]

FOLDER = Path(__file__).parent
LEAST_NODE = 20
MAX_TOKENS = 12_000


def count_tokens(texts: Sequence[str]) -> list[int]:
    """The number of tokens of each text. Raises node.Unavailable, with what is lacking."""
    if not (FOLDER / "node_modules" / "gpt-tokenizer").is_dir():
        raise node.Unavailable("its packages are not installed: npm ci in tests/clients")
    finished = subprocess.run(
        [node.program(LEAST_NODE), str(FOLDER / "count_tokens.mjs")],
        input=json.dumps(texts),
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
        env=node.plain_environment(),
    )
    counts: list[int] = json.loads(finished.stdout)
    return counts


def serialize_tools(tools: Sequence[Any]) -> str:
    return json.dumps({"tools": tools}, ensure_ascii=False, separators=(",", ":"))


def test_the_list_of_the_data_tools_takes_few_tokens(
    mcp: McpClient, capsys: pytest.CaptureFixture[str]
) -> None:
    tools = mcp.with_revision(Revision.V2026_07_28).request("tools/list").result["tools"]
    data_tools = [tool for tool in tools if tool["name"].startswith("data_")]
    try:
        of_data_tools, of_all, *each = count_tokens(
            [
                serialize_tools(data_tools),
                serialize_tools(tools),
                *(serialize_tools([tool]) for tool in data_tools),
            ]
        )
    except node.Unavailable as lacking:
        pytest.skip(f"The tokenizer: {lacking}")

    longest = max(zip(each, data_tools, strict=True), key=lambda pair: pair[0])
    with capsys.disabled():
        print(  # noqa: T201  the figure is for people
            f"\n{len(data_tools)} data tools: {of_data_tools:,} tokens, limit {MAX_TOKENS:,}; "
            f"all {len(tools)} tools: {of_all:,}; "
            f"the longest, {longest[1]['name']}: {longest[0]:,}"
        )
    assert len(data_tools) == 18
    assert of_data_tools < MAX_TOKENS
    assert of_all < MAX_TOKENS
