"""How each AI client is connected: steps and snippets, as data made for one address."""

import json
from base64 import b64encode
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

from django.utils.translation import gettext as _

SERVER_NAME: Final = "halo"
"""What the server is called in every client's configuration."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """Text to paste as it stands; `caption` says where."""

    caption: str
    text: str


@dataclass(frozen=True, slots=True)
class Client:
    """One client's way in. `install_link` and `note` are empty where there is none."""

    slug: str
    name: str
    summary: str
    steps: tuple[str, ...]
    snippets: tuple[Snippet, ...] = ()
    install_link: str = ""
    note: str = ""


def clients(url: str) -> tuple[Client, ...]:
    """Instructions for every client we describe, best known first; `url` is the MCP address."""
    return (
        _claude(url),
        _claude_code(url),
        _cursor(url),
        _vs_code(url),
        _chatgpt(url),
        _any_client(url),
    )


def _claude(url: str) -> Client:
    return Client(
        slug="claude",
        name=_("Claude"),
        summary=_("On the web, on the desktop and on the phone"),
        steps=(
            _("In Claude, open Settings, then Connectors, and choose “Add custom connector”."),
            _("Name it Halo, paste the MCP address and add it."),
            _("Press “Connect”, sign in here and choose what Claude may do."),
        ),
        snippets=(Snippet(_("MCP address"), url), *_claude_desktop_bridge(url)),
        note=_reachability_note(url),
    )


def _claude_code(url: str) -> Client:
    return Client(
        slug="claude-code",
        name=_("Claude Code"),
        summary=_("In the terminal"),
        steps=(
            _("Run the command below once."),
            _("Start Claude Code, type /mcp, pick halo and choose “Authenticate”."),
            _("Sign in here and choose what it may do."),
        ),
        snippets=(
            Snippet(_("In a terminal"), f"claude mcp add --transport http {SERVER_NAME} {url}"),
        ),
    )


def _cursor(url: str) -> Client:
    config = b64encode(json.dumps({"url": url}).encode()).decode()
    query = urlencode({"name": SERVER_NAME, "config": config})
    return Client(
        slug="cursor",
        name="Cursor",
        summary=_("One click, or one file"),
        steps=(
            _("Press the button, or put the text below into the file it names."),
            _("In Cursor, open Settings, then MCP, and choose “Connect” beside halo."),
            _("Sign in here and choose what Cursor may do."),
        ),
        snippets=(
            Snippet("~/.cursor/mcp.json", _json({"mcpServers": {SERVER_NAME: {"url": url}}})),
        ),
        # The form of Cursor's install links: cursor.com/docs/mcp/install-links.
        install_link=f"cursor://anysphere.cursor-deeplink/mcp/install?{query}",
    )


def _vs_code(url: str) -> Client:
    server = {"type": "http", "url": url}
    named = json.dumps({"name": SERVER_NAME, **server})
    return Client(
        slug="vs-code",
        name="VS Code",
        summary=_("With GitHub Copilot's agent mode"),
        steps=(
            _("Press the button, run the command, or put the text below into the file it names."),
            _("Open the command palette, run “MCP: List Servers” and start halo."),
            _("Sign in here and choose what it may do."),
        ),
        snippets=(
            # A JSON string of JSON is quoted as both POSIX shells and cmd.exe read it.
            Snippet(_("In a terminal"), f"code --add-mcp {json.dumps(named)}"),
            Snippet(".vscode/mcp.json", _json({"servers": {SERVER_NAME: server}})),
        ),
        # The form of VS Code's install links: code.visualstudio.com/api/extension-guides/ai/mcp.
        install_link=f"vscode:mcp/install?{quote(named, safe='')}",
    )


def _chatgpt(url: str) -> Client:
    return Client(
        slug="chatgpt",
        name="ChatGPT",
        summary=_("As a custom connector, in developer mode"),
        steps=(
            _("In ChatGPT, open Settings, then the connectors, and switch developer mode on."),
            _("Create a connector, paste the MCP address and choose OAuth as the way to sign in."),
            _("Sign in here and choose what ChatGPT may do."),
        ),
        snippets=(Snippet(_("MCP address"), url),),
        note=_reachability_note(url),
    )


def _any_client(url: str) -> Client:
    server = {"type": "http", "url": url}
    return Client(
        slug="any-client",
        name=_("Any other client"),
        summary=_("Whatever speaks MCP over HTTP and OAuth 2.1"),
        steps=(
            _("Give it the MCP address and choose HTTP (“Streamable HTTP”) as the transport."),
            _("Leave client id and secret empty: the client registers itself, with PKCE."),
            _("Sign in here when it opens this site, and choose what it may do."),
        ),
        snippets=(
            Snippet(_("Most configuration files"), _json({"mcpServers": {SERVER_NAME: server}})),
            Snippet(_("To see that the address answers"), f"curl {url}"),
        ),
    )


def _claude_desktop_bridge(url: str) -> tuple[Snippet, ...]:
    if _is_reachable(url):
        return ()
    bridge = {"command": "npx", "args": ["-y", "mcp-remote", url]}
    caption = _("Claude Desktop reaches it all the same, by claude_desktop_config.json")
    return (Snippet(caption, _json({"mcpServers": {SERVER_NAME: bridge}})),)


def _reachability_note(url: str) -> str:
    if _is_reachable(url):
        return ""
    return _(
        "This client calls from its maker's servers and needs a public https address, "
        "which this server does not have yet."
    )


def _is_reachable(url: str) -> bool:
    return url.startswith("https://")


def _json(value: object) -> str:
    return json.dumps(value, indent=2)
