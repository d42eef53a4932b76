"""manage.py server_json: prints the entry of this server for the MCP Registry."""

import json
import re
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from mcp_protocol import server_card
from mcp_protocol.server_card import namespace
from oauth import addresses
from tools_registry.endpoint.surface import WORKSPACE_SURFACE

# The icons that the server has at its origin.
ICONS: Final = (
    ("/apple-touch-icon.png", "image/png", "180x180"),
    ("/favicon.svg", "image/svg+xml", "any"),
)
NAME: Final = re.compile(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+")
DOMAIN: Final = re.compile(r"(?:[a-z0-9-]+\.)+[a-z][a-z0-9-]*")


class Command(BaseCommand):
    help = "Print server.json, with which mcp-publisher lists this server in the MCP Registry."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--name", help="name in the registry, by default that of the host: com.example/..."
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        server, host = WORKSPACE_SURFACE.server(), urlsplit(addresses.issuer()).hostname or ""
        if not addresses.issuer().startswith("https://") or not DOMAIN.fullmatch(host):
            raise CommandError(
                f"The registry lists servers at a public https address only: {addresses.issuer()} "
                "is none. Set HALO_PUBLIC_URL."
            )
        name = options["name"] or f"{namespace(host)}/{server.name}"
        if not NAME.fullmatch(name):
            raise CommandError(f"A name is like com.example/halo, not {name!r}.")
        icons = [
            {"src": addresses.url(path), "mimeType": kind, "sizes": [size]}
            for path, kind, size in ICONS
        ]
        entry = server_card.registry_entry(server, name, addresses.resource(), icons)
        self.stdout.write(json.dumps(entry, indent=2))
        if not settings.HALO_MCP_REGISTRY_PROOF:
            self.stderr.write(
                "HALO_MCP_REGISTRY_PROOF is not set: the registry verifies the domain by it."
            )
