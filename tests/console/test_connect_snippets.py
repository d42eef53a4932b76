"""The instructions for connecting are right to the letter: each is read as its client reads it."""

import json
import shlex
from base64 import b64decode
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from console import connect
from console.connect import ClientInstructions

URL = "https://halo.example/api/mcp"
LOCAL = "http://127.0.0.1:8000/api/mcp"


def client(slug: str, url: str = URL) -> ClientInstructions:
    return next(one for one in connect.clients(url) if one.slug == slug)


def snippet(slug: str, caption: str, url: str = URL) -> str:
    return next(one.text for one in client(slug, url).snippets if caption in one.caption)


def test_each_client_is_described_once_in_steps() -> None:
    slugs = [one.slug for one in connect.clients(URL)]
    assert slugs == ["claude", "claude-code", "cursor", "vs-code", "chatgpt", "any-client"]
    assert all(one.steps and one.snippets for one in connect.clients(URL))


def test_clients_that_cannot_reach_a_loopback_address_come_last() -> None:
    slugs = [one.slug for one in connect.clients(LOCAL)]
    assert slugs[0] == "claude-code"
    assert slugs[-2:] == ["claude", "chatgpt"]


@pytest.mark.parametrize("one", connect.clients(URL), ids=lambda one: one.slug)
def test_every_client_is_shown_the_whole_address(one: ClientInstructions) -> None:
    assert any(URL in snippet.text for snippet in one.snippets)


def test_claude_code_is_added_by_one_command() -> None:
    words = shlex.split(snippet("claude-code", "terminal"))
    assert words == ["claude", "mcp", "add", "--transport", "http", "halo", URL]


def test_cursor_reads_its_file_and_its_link_alike() -> None:
    file = json.loads(snippet("cursor", "mcp.json"))
    link = urlsplit(client("cursor").install_link)
    query = parse_qs(link.query, strict_parsing=True)
    config = json.loads(b64decode(query["config"][0], validate=True))
    assert (link.scheme, link.netloc) == ("cursor", "anysphere.cursor-deeplink")
    assert link.path == "/mcp/install"
    assert file["mcpServers"] == {query["name"][0]: config} == {"halo": {"url": URL}}


def test_vs_code_reads_its_command_its_link_and_its_file_alike() -> None:
    program, flag, argument = shlex.split(snippet("vs-code", "terminal"))
    scheme, _, link = client("vs-code").install_link.partition("?")
    file = json.loads(snippet("vs-code", "mcp.json"))
    assert (program, flag, scheme) == ("code", "--add-mcp", "vscode:mcp/install")
    assert json.loads(argument) == json.loads(unquote(link))
    assert json.loads(argument) == {"name": "halo"} | file["servers"]["halo"]
    assert file["servers"]["halo"] == {"type": "http", "url": URL}


def test_other_clients_get_the_common_form_of_configuration() -> None:
    file = json.loads(snippet("any-client", "configuration"))
    assert file == {"mcpServers": {"halo": {"type": "http", "url": URL}}}


@pytest.mark.parametrize("slug", ["claude", "chatgpt"])
def test_hosted_clients_warn_of_an_address_they_cannot_reach(slug: str) -> None:
    assert "public https address" in client(slug, LOCAL).note
    assert client(slug).note == ""


def test_claude_desktop_is_given_a_bridge_only_where_it_needs_one() -> None:
    bridge = json.loads(snippet("claude", "claude_desktop_config.json", LOCAL))
    assert bridge["mcpServers"]["halo"]["args"] == ["-y", "mcp-remote", LOCAL]
    assert [one.text for one in client("claude").snippets] == [URL]
