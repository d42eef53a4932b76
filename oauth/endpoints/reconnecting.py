"""How a person makes a client forget its metadata document, so that it registers instead."""

from collections.abc import Callable, Mapping
from typing import Final

from django.utils.translation import gettext as _

from oauth import addresses


def steps(client_id: str) -> list[str]:
    """Returns the steps for the client with this metadata document."""
    for prefix, describe in CLIENTS.items():
        if client_id.startswith(prefix):
            return describe()
    return [
        _("In your AI client, remove this server."),
        _("Add it again with the same address. The client then registers here."),
        _("Approve the request."),
    ]


def _claude_code() -> list[str]:
    example = f"claude mcp add --transport http halo {addresses.resource()}"
    return [
        _("In a terminal, run “claude mcp remove halo”, with the name that this server has there."),
        _("Add it again with the same address, such as “%(command)s”.") % {"command": example},
        _(
            "In Claude Code, type /mcp, pick the server and choose “Authenticate”. The client then "
            "registers here."
        ),
    ]


def _codex() -> list[str]:
    return [
        _(
            "In a terminal, run “codex mcp login halo --oauth-client-registration dcr”, with the "
            "name that this server has there. The client then registers here."
        ),
        _("Open the address that it prints and approve the request."),
    ]


# By the beginning of the document's address.
CLIENTS: Final[Mapping[str, Callable[[], list[str]]]] = {
    "https://claude.ai/oauth/claude-code": _claude_code,
    "https://chatgpt.com/oauth/codex/": _codex,
}
