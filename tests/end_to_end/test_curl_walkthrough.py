"""The bare-bones client of the transport document, run by a shell with the real curl.

`tests/fixtures/walkthrough.sh` is the document's text; only its TOKEN and URL lines differ.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.drivers.person import Person
from tests.drivers.server import Server
from tests.end_to_end.bare_client import BareClient

pytestmark = pytest.mark.process

SCRIPT = Path(__file__).resolve().parents[1] / "fixtures" / "walkthrough.sh"


def test_the_three_commands_get_the_three_answers(server: Server) -> None:
    if shutil.which("curl") is None:
        pytest.skip("no curl on this machine")
    token = BareClient(server).connect(Person())

    done = subprocess.run(
        ["sh", str(SCRIPT), token, server.mcp_url],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    initialized, listed, called = answers_in(done.stdout)

    assert initialized == {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {
            "protocolVersion": "2025-03-26",
            "serverInfo": {"name": "halo-agents", "version": "1.0.0"},
            "capabilities": {"tools": {"listChanged": False}},
        },
    }
    search = next(tool for tool in listed["result"]["tools"] if tool["name"] == "search_docs")
    assert search["inputSchema"] == {
        "type": "object",
        "properties": {"query": {"type": "string"}, "page_size": {"type": "number"}},
        "required": ["query"],
        "additionalProperties": False,
    }
    assert called["id"] == 3
    assert called["result"]["isError"] is False
    (block,) = called["result"]["content"]
    found = json.loads(block["text"])
    assert block["text"] == json.dumps(found, indent=2, ensure_ascii=False)
    assert 1 <= len(found["results"]) <= 5


def answers_in(output: str) -> list[Any]:
    """The JSON values that three commands wrote one behind the other."""
    decoder, found, position = json.JSONDecoder(), [], 0
    while position < len(output):
        value, position = decoder.raw_decode(output, position)
        found.append(value)
        position += len(output[position:]) - len(output[position:].lstrip())
    return found
