"""manage.py people key create, list, revoke: API keys of the HR API."""

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from oauth import addresses, server_keys
from oauth.management.key_command import KeyCommand
from oauth.principal import KeyKind
from workspace.models import Organization


class Command(KeyCommand):
    help = "Create, list and revoke API keys of the HR API."
    kinds = server_keys.HR_KINDS
    scopes = server_keys.HR_SCOPES

    def add_create_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--test", action="store_true", help="for the sandbox")

    def kind(self, options: dict[str, Any]) -> KeyKind:
        return KeyKind.TEST if options["test"] else KeyKind.LIVE

    def addresses(self, organization: Organization) -> Mapping[str, str]:
        root = addresses.url(f"/w/{organization.slug}/api")
        return {"mcp_url": f"{root}/mcp", "api_url": f"{root}/v1"}
