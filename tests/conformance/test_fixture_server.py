"""The server that others point their own suite at: an address, a token, and every fixture."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from halo_mcp import settings
from mcp_protocol.revisions import Revision
from tests.conformance import fixture_server
from tests.conformance.fixture_server import FixtureServer
from tests.drivers.mcp import McpClient, http_transport
from tests.drivers.server import ROOT

pytestmark = pytest.mark.process

# What server-stateless and the scenarios that call a tool name.
NAMED = {
    "json_schema_2020_12_tool",
    "test_audio_content",
    "test_elicitation",
    "test_input_required_result_multi_round",
    "test_logging_tool",
    "test_missing_capability",
    "test_streaming_elicitation",
}


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FixtureServer]:
    with fixture_server.running(tmp_path_factory.mktemp("fixtures")) as server:
        yield server


def test_address_and_token_are_all_that_another_relay_needs(serving: FixtureServer) -> None:
    stranger = McpClient(None, Revision.V2026_07_28, http_transport(serving.url))

    assert stranger.request("tools/list").status == 401
    assert set(stranger.holding(serving.token).tool_names()) >= NAMED


def test_the_suite_finds_its_resources_and_prompts(serving: FixtureServer) -> None:
    client = McpClient(serving.token, Revision.V2026_07_28, http_transport(serving.url))
    resources = client.request("resources/list").result["resources"]
    prompts = client.request("prompts/list").result["prompts"]

    assert {one["uri"] for one in resources} >= {
        "test://static-text",
        "test://static-binary",
        "test://watched-resource",
    }
    assert {one["name"] for one in prompts} >= {
        "test_simple_prompt",
        "test_prompt_with_arguments",
        "test_prompt_with_embedded_resource",
        "test_prompt_with_image",
        "test_input_required_result_prompt",
    }


def test_the_trigger_makes_a_tool_come_and_go(serving: FixtureServer) -> None:
    client = McpClient(serving.token, Revision.V2026_07_28, http_transport(serving.url))

    def there() -> bool:
        client.call("test_trigger_tool_change")
        return "changing.come_and_go" in client.tool_names()

    assert there() is not there()


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1:1", 200),
        ("http://localhost:65000", 200),
        ("http://[::1]:3000", 200),
        ("http://evil.example.com", 403),
        ("http://127.0.0.1.evil.example.com:80", 403),
        ("null", 403),
    ],
)
def test_a_page_of_this_machine_may_ask_from_any_port(
    serving: FixtureServer, origin: str, status: int
) -> None:
    client = McpClient(serving.token, transport=http_transport(serving.url))

    assert client.request("tools/list", headers={"Origin": origin}).status == status


def test_its_limits_are_out_of_the_way_every_one_of_them() -> None:
    there_are = {name for name in vars(settings) if name.startswith("HALO_RATE_")}

    assert there_are == fixture_server.RAISED.keys()


@pytest.mark.parametrize(
    "ending", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.daily)]
)
def test_it_says_one_line_and_serves_until_asked_to_stop(
    tmp_path: Path, ending: signal.Signals
) -> None:
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.conformance", "--serve-only"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    assert process.stdout
    try:
        with process.stdout as output:
            said = json.loads(output.readline())
            assert said.keys() == {"url", "token"}
            assert McpClient(said["token"], transport=http_transport(said["url"])).tool_names()
            process.send_signal(ending)
            assert process.wait(30) in {0, -ending}
            assert output.read() == b""
    finally:
        process.kill()
        process.wait(30)
