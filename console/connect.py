"""How to connect each AI client: steps and snippets for one MCP address."""

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
    """Text to paste; `caption` says where."""

    caption: str
    text: str


@dataclass(frozen=True, slots=True)
class ClientInstructions:
    """How to connect one client. `install_link` and `note` are empty if there is none."""

    slug: str
    name: str
    summary: str
    steps: tuple[str, ...]
    snippets: tuple[Snippet, ...] = ()
    install_link: str = ""
    note: str = ""


def clients(url: str) -> tuple[ClientInstructions, ...]:
    """Instructions for each client, for the MCP address `url`; the first is shown open.

    Clients that cannot reach the address come last.
    """
    described = (
        _claude(url),
        _claude_code(url),
        _cursor(url),
        _vs_code(url),
        _chatgpt(url),
        _any_client(url),
    )
    return tuple(sorted(described, key=lambda client: bool(client.note)))


def _claude(url: str) -> ClientInstructions:
    return ClientInstructions(
        slug="claude",
        name=_("Claude"),
        summary=_("On the web, on the desktop and on the phone"),
        steps=(
            _("In Claude, open Settings, then Connectors, and choose “Add custom connector”."),
            _("Name it Halo, paste the MCP address and click “Add”."),
            _("Click “Connect”, sign in here and approve the permissions."),
        ),
        snippets=(Snippet(_("MCP address"), url), *_claude_desktop_bridge(url)),
        note=_reachability_note(url),
    )


def _claude_code(url: str) -> ClientInstructions:
    return ClientInstructions(
        slug="claude-code",
        name=_("Claude Code"),
        summary=_("In the terminal"),
        steps=(
            _("Run the command below."),
            _("Start Claude Code, type /mcp, pick halo and choose “Authenticate”."),
            _("Sign in here and approve the permissions."),
        ),
        snippets=(
            Snippet(_("In a terminal"), f"claude mcp add --transport http {SERVER_NAME} {url}"),
        ),
    )


def _cursor(url: str) -> ClientInstructions:
    config = b64encode(json.dumps({"url": url}).encode()).decode()
    query = urlencode({"name": SERVER_NAME, "config": config})
    return ClientInstructions(
        slug="cursor",
        name="Cursor",
        summary=_("One click, or one file"),
        steps=(
            _("Click the button, or add the text below to the named file."),
            _("In Cursor, open Settings, then MCP, and click “Connect” next to halo."),
            _("Sign in here and approve the permissions."),
        ),
        snippets=(
            Snippet("~/.cursor/mcp.json", _json({"mcpServers": {SERVER_NAME: {"url": url}}})),
        ),
        # The form of Cursor's install links: cursor.com/docs/mcp/install-links.
        install_link=f"cursor://anysphere.cursor-deeplink/mcp/install?{query}",
    )


def _vs_code(url: str) -> ClientInstructions:
    server = {"type": "http", "url": url}
    named = json.dumps({"name": SERVER_NAME, **server})
    return ClientInstructions(
        slug="vs-code",
        name="VS Code",
        summary=_("With GitHub Copilot's agent mode"),
        steps=(
            _("Click the button, run the command, or add the text below to the named file."),
            _("Open the command palette, run “MCP: List Servers” and start halo."),
            _("Sign in here and approve the permissions."),
        ),
        snippets=(
            # A JSON string of JSON is quoted as both POSIX shells and cmd.exe read it.
            Snippet(_("In a terminal"), f"code --add-mcp {json.dumps(named)}"),
            Snippet(".vscode/mcp.json", _json({"servers": {SERVER_NAME: server}})),
        ),
        # The form of VS Code's install links: code.visualstudio.com/api/extension-guides/ai/mcp.
        install_link=f"vscode:mcp/install?{quote(named, safe='')}",
    )


def _chatgpt(url: str) -> ClientInstructions:
    return ClientInstructions(
        slug="chatgpt",
        name="ChatGPT",
        summary=_("As a custom connector, in developer mode"),
        steps=(
            _("In ChatGPT, open Settings, then Connectors, and turn on developer mode."),
            _("Create a connector, paste the MCP address and select OAuth as authentication."),
            _("Sign in here and approve the permissions."),
        ),
        snippets=(Snippet(_("MCP address"), url),),
        note=_reachability_note(url),
    )


def _any_client(url: str) -> ClientInstructions:
    server = {"type": "http", "url": url}
    return ClientInstructions(
        slug="any-client",
        name=_("Any other client"),
        summary=_("Any MCP client with HTTP and OAuth 2.1"),
        steps=(
            _("Enter the MCP address and select HTTP (“Streamable HTTP”) as the transport."),
            _("Leave client id and secret empty: the client registers itself and uses PKCE."),
            _("Sign in when the client opens this site, and approve the permissions."),
        ),
        snippets=(
            Snippet(_("Most configuration files"), _json({"mcpServers": {SERVER_NAME: server}})),
            Snippet(_("To test the address"), f"curl {url}"),
        ),
    )


def _claude_desktop_bridge(url: str) -> tuple[Snippet, ...]:
    if _is_reachable(url):
        return ()
    bridge = {"command": "npx", "args": ["-y", "mcp-remote", url]}
    caption = _("For Claude Desktop, in claude_desktop_config.json")
    return (Snippet(caption, _json({"mcpServers": {SERVER_NAME: bridge}})),)


def _reachability_note(url: str) -> str:
    if _is_reachable(url):
        return ""
    return _(
        "This client calls from its vendor's servers and needs a public https address. This "
        "server does not have one."
    )


def _is_reachable(url: str) -> bool:
    return url.startswith("https://")


def _json(value: object) -> str:
    return json.dumps(value, indent=2)
