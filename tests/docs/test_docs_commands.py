"""The commands on the pages work word for word, in one shell, against the real server."""

import json
import re
import subprocess
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.management import call_command

from tests.docs.doc_pages import ROOT, blocks
from tests.drivers.grants import Grant
from tests.drivers.person import Person
from tests.drivers.server import Server

SIGN_IN = ROOT / "docs" / "sign-in-and-consent.md"
ENDPOINT = ROOT / "docs" / "mcp-endpoint.md"
WIDGET = ROOT / "docs" / "install-the-widget.md"
ADDRESS = "http://127.0.0.1:8000"
SECONDS = 60


class Shell:
    """One person's shell: what a block sets, the next one has."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.folder = folder
        self.server = server

    def says(self, commands: str) -> str:
        """Type commands; returns what they print. Fails where a command fails."""
        script = (
            f"set -eu\n{self._restoring_command()}\n{commands.replace(ADDRESS, self.server.url)}\n"
        )
        done = subprocess.run(
            ["sh", "-c", script + "export -p > state\n"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _restoring_command(self) -> str:
        # All variables are exported, so that they can be written down and read again.
        return "set -a\n. ./state" if (self.folder / "state").exists() else "set -a"


@pytest.fixture
def shell(tmp_path: Path, server: Server) -> Shell:
    return Shell(tmp_path, server)


def _follow_page(shell: Shell, commands: list[str]) -> list[str]:
    """Go down the page as a person does; returns what each block printed."""
    printed: list[str] = []
    for block in commands:
        text = block
        if block.startswith("CODE="):
            text = f"CODE={_approve(printed[-1].strip())}"
        printed.append(shell.says(text))
    return printed


def _approve(address: str) -> str:
    person = Person()
    answer = parse_qs(urlsplit(person.open(address)).query)
    person.browser.close()
    (code,) = answer["code"]
    return code


def _facts(reply: str) -> Any:
    return json.loads(json.loads(reply)["result"]["content"][0]["text"])


@pytest.mark.process
def test_the_page_leads_from_discovery_to_revocation(shell: Shell) -> None:
    printed = _follow_page(shell, [block.text for block in blocks(SIGN_IN, "sh")])
    _url, found, client, _asked, _code, tokens, called, refreshed, revoked = printed

    assert f'"issuer": "{shell.server.url}"' in found
    assert client.startswith("halo_client_")
    assert json.loads(tokens)["scope"] == "docs:read setup:read"
    assert _facts(called)["results"][0]["page"] == "tokens"
    assert json.loads(refreshed)["scope"] == "docs:read"
    assert revoked.strip() == "200"


@pytest.mark.process
def test_spec15_the_commands_of_the_readme_and_the_endpoint_page_work_with_that_token(
    shell: Shell,
) -> None:
    until_token = [block.text for block in blocks(SIGN_IN, "sh")][:6]
    _follow_page(shell, until_token)
    _setup, calls, modern, read = [block.text for block in blocks(ENDPOINT, "sh")]

    (call,) = [block.text for block in blocks(ROOT / "README.md", "sh") if "$TOKEN" in block.text]
    assert _facts(shell.says(call))["results"][0]["page"] == "scopes"

    shell.says(f"URL={ADDRESS}/api/mcp")
    initialized, listed, called = re.findall(
        r'\{"jsonrpc".*?\}(?=\{"jsonrpc"|$)', shell.says(calls)
    )
    assert json.loads(initialized)["result"]["serverInfo"]["name"] == "halo-agents"
    assert len(json.loads(listed)["result"]["tools"]) == 4
    assert _facts(called)["results"][0]["page"] == "rate-limits"
    assert _facts(shell.says(modern))["results"][0]["page"] == "install-the-widget"
    (page,) = json.loads(shell.says(read))["result"]["contents"]
    assert page["text"].startswith("# Tokens")


@pytest.mark.django_db
def test_the_identity_secret_is_read_as_the_page_says(grant: Grant) -> None:
    (command,) = (block.text for block in blocks(WIDGET, "sh"))
    words = command.replace("demo-organization", grant.organization.slug).split()
    assert words[:2] == ["./run", "manage"]
    printed = StringIO()
    call_command(*words[2:], stdout=printed)
    assert re.fullmatch(r"ha_secret_[A-Za-z0-9_-]{43}\n", printed.getvalue())
