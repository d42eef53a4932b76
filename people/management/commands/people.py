"""manage.py people key create, list, revoke: API keys of the HR API."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from oauth import addresses, expiry, server_keys
from oauth.principal import KeyKind
from workspace.models import Organization

ADDRESS = "command line"


class Command(BaseCommand):
    help = "Create, list and revoke API keys of the HR API."

    def add_arguments(self, parser: CommandParser) -> None:
        topics = parser.add_subparsers(dest="topic", required=True)
        verbs = topics.add_parser("key").add_subparsers(dest="verb", required=True)
        create = verbs.add_parser("create", help="create a key and print it, once")
        create.add_argument("--workspace", required=True, help="short name of the organization")
        create.add_argument("--scopes", required=True, help="separated by spaces")
        create.add_argument("--name", default="Command line")
        create.add_argument("--days", type=int, default=365, help="0 is for ever")
        create.add_argument("--test", action="store_true", help="for the sandbox")
        create.add_argument("--json", action="store_true", help="print key and addresses as JSON")
        listing = verbs.add_parser("list", help="list the keys of a workspace")
        listing.add_argument("--workspace", required=True, help="short name of the organization")
        revoke = verbs.add_parser("revoke", help="refuse requests with a key from now on")
        revoke.add_argument("id", help="as list prints it")

    def handle(self, *_args: Any, **options: Any) -> None:
        {"create": self._create, "list": self._list, "revoke": self._revoke}[options["verb"]](
            options
        )

    def _create(self, options: dict[str, Any]) -> None:
        scopes = options["scopes"].split()
        unknown = [one for one in scopes if one not in server_keys.HR_SCOPES]
        if unknown or not scopes:
            known = ", ".join(server_keys.HR_SCOPES)
            raise CommandError(
                f"Unknown scopes: {', '.join(unknown) or 'none given'}. Use: {known}."
            )
        if not 0 <= options["days"] <= expiry.MAX_DAYS:
            raise CommandError(f"--days is a number from 0 to {expiry.MAX_DAYS}.")
        organization = _workspace(options["workspace"])
        kind = KeyKind.TEST if options["test"] else KeyKind.LIVE
        row = server_keys.unsaved(
            organization, options["name"][:100], scopes, options["days"], kind
        )
        secret = server_keys.issue(row, user=None, address=ADDRESS).secret
        root = addresses.url(f"/w/{organization.slug}/api")
        found = {"key": secret, "mcp_url": f"{root}/mcp", "api_url": f"{root}/v1"}
        if options["json"]:
            self.stdout.write(json.dumps(found))
            return
        self.stdout.write(f"API key (shown once): {found['key']}")
        self.stdout.write(f"HR endpoint for MCP:  {found['mcp_url']}")
        self.stdout.write(f"HR API:               {found['api_url']}")

    def _list(self, options: dict[str, Any]) -> None:
        organization = _workspace(options["workspace"])
        rows = server_keys.of_organizations([organization.pk], server_keys.HR_KINDS)
        for one in server_keys.listed(rows):
            row = one.row
            self.stdout.write(f"{row.pk}  {one.status:8} {row.kind:5} {row.name} ({row.scope})")

    def _revoke(self, options: dict[str, Any]) -> None:
        row = server_keys.find(options["id"], server_keys.HR_KINDS)
        if row is None:
            raise CommandError("There is no API key with this id.")
        ended = server_keys.revoke(row, user=None, address=ADDRESS)
        self.stdout.write("Revoked." if ended else "This key was already revoked.")


def _workspace(slug: str) -> Organization:
    found = Organization.objects.filter(slug=slug).first()
    if found is None:
        names = ", ".join(Organization.objects.order_by("slug").values_list("slug", flat=True)[:20])
        raise CommandError(f"There is no workspace {slug!r}. There are: {names or 'none'}.")
    return found
