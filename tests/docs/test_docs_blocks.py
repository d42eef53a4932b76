"""What stands in code blocks is what it says it is."""

import json
import re
import subprocess
from typing import Any

import pytest
import yaml

from console import connect
from tests.docs.doc_pages import PAGES, ROOT, Block, blocks, every_block, page
from tools_registry.sources import setup

README = ROOT / "README.md"
MCP_ADDRESS = "http://127.0.0.1:8000/api/mcp"
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
SHOWN = [
    snippet.text
    for client in connect.clients(MCP_ADDRESS)
    for snippet in client.snippets
    if not snippet.text.startswith("code --add-mcp")
]


def test_there_are_pages_enough_to_find_something_in() -> None:
    assert len(PAGES) >= 12


def test_the_readme_opens_with_the_two_commands() -> None:
    lines = next(blocks(README, "sh")).text.splitlines()
    assert [line.partition("#")[0].strip() for line in lines] == ["./run", "./run test"]
    opening = README.read_text(encoding="utf-8").partition("```")[0]
    assert [line[:1] for line in opening.splitlines() if line] == ["#", "A"]


@pytest.mark.parametrize("block", every_block("json"), ids=str)
def test_a_json_block_is_json(block: Block) -> None:
    assert json.loads(block.text)


@pytest.mark.parametrize("block", every_block("python"), ids=str)
def test_a_python_block_compiles(block: Block) -> None:
    compile(block.text, str(block), "exec")


@pytest.mark.parametrize("block", every_block("sh"), ids=str)
def test_a_shell_block_is_posix_shell(block: Block) -> None:
    checked = subprocess.run(
        ["sh", "-n"], input=block.text, capture_output=True, text=True, check=False
    )
    assert checked.stderr == ""
    assert checked.returncode == 0


@pytest.mark.parametrize("text", SHOWN)
def test_the_page_shows_each_snippet_of_the_home_page(text: str) -> None:
    assert text in page("connect-a-client")


def test_the_page_shows_the_widget_as_the_tools_give_it() -> None:
    snippet = setup.SNIPPET.format(
        script="https://halo.example/static/sdk/haloagents.umd.js",
        organization="your-organization-id",
        key="ab_live_...",
    )
    assert snippet in page("install-the-widget")
    assert setup.SAMPLES["python"] in page("install-the-widget")


def test_spec15_deployment_uses_one_kind_of_command() -> None:
    text = page("deployment")
    assert text.count("python manage.py") == 1  # where it says what replaces ./run in an image
    assert "use `python manage.py` for `./run manage`" in text


def test_spec13_the_security_policy_says_what_an_outage_of_the_limit_store_does() -> None:
    policy = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "Limits fail closed" not in policy
    (promise,) = [line for line in policy.split("- **") if line.startswith("Limits hold")]
    assert "then refused with 503" in promise
    assert "MCP requests continue under each process's share" in promise


def test_the_image_holds_every_package_of_the_project() -> None:
    dockerfile = COMPOSE["services"]["web"]["build"]["dockerfile_inline"]
    copied = set(re.findall(r"(?m)^COPY (\w+) \w+/$", dockerfile))
    packages = {file.parent.name for file in ROOT.glob("*/__init__.py")}
    assert packages
    # A client of such a server, which no server needs.
    packages.remove("aap_conformance")
    assert copied == packages | {"templates", "static", "docs"}


def test_the_parts_of_an_installation_are_all_there() -> None:
    assert sorted(COMPOSE["services"]) == ["postgresql", "prepare", "redis", "web", "worker"]
    assert int(COMPOSE["services"]["postgresql"]["image"].split(":")[1].split("-")[0]) >= 15
    assert COMPOSE["services"]["worker"]["command"] == "python manage.py worker"
