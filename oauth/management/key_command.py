"""manage.py APP key create, list, revoke: what the commands for keys of each API have in common."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from django.core.management.base import BaseCommand, CommandError, CommandParser

from oauth import expiry, server_keys
from oauth.principal import KeyKind
from workspace.models import Organization

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

ADDRESS = "command line"


class KeyCommand(BaseCommand):
    """A command for keys of these kinds; the first is created unless an option says otherwise."""

    kinds: ClassVar[tuple[KeyKind, ...]]
    scopes: ClassVar[Mapping[str, "StrOrPromise"]]

    def addresses(self, organization: Organization) -> Mapping[str, str]:
        """Returns where a key is used, by the names that `--json` has for them."""
        raise NotImplementedError

    def add_create_arguments(self, parser: CommandParser) -> None:
        """Adds the options that only this command has."""

    def kind(self, _options: dict[str, Any]) -> KeyKind:
        return self.kinds[0]

    def add_arguments(self, parser: CommandParser) -> None:
        topics = parser.add_subparsers(dest="topic", required=True)
        verbs = topics.add_parser("key").add_subparsers(dest="verb", required=True)
        create = verbs.add_parser("create", help="create a key and print it, once")
        add_organization(create)
        create.add_argument("--scopes", required=True, help="separated by spaces")
        create.add_argument("--name", default="Command line")
        create.add_argument("--days", type=int, default=365, help="0 is for ever")
        create.add_argument("--json", action="store_true", help="print key and addresses as JSON")
        self.add_create_arguments(create)
        listing = verbs.add_parser("list", help="list the keys of an organization")
        add_organization(listing)
        revoke = verbs.add_parser("revoke", help="refuse requests with a key from now on")
        revoke.add_argument("id", help="as list prints it")

    def handle(self, *_args: Any, **options: Any) -> None:
        {"create": self._create, "list": self._list, "revoke": self._revoke}[options["verb"]](
            options
        )

    def _create(self, options: dict[str, Any]) -> None:
        scopes = options["scopes"].split()
        unknown = [one for one in scopes if one not in self.scopes]
        if unknown or not scopes:
            known = ", ".join(self.scopes)
            raise CommandError(
                f"Unknown scopes: {', '.join(unknown) or 'none given'}. Use: {known}."
            )
        if not 0 <= options["days"] <= expiry.MAX_DAYS:
            raise CommandError(f"--days is a number from 0 to {expiry.MAX_DAYS}.")
        organization = _find_organization(options["organization"])
        row = server_keys.build_row(
            organization, options["name"][:100], scopes, options["days"], self.kind(options)
        )
        secret = server_keys.issue(row, user=None, address=ADDRESS).secret
        found = {"key": secret, **self.addresses(organization)}
        if options["json"]:
            self.stdout.write(json.dumps(found))
            return
        self.stdout.write(f"Key (shown once): {found.pop('key')}")
        for name, address in found.items():
            self.stdout.write(f"{name}: {address}")

    def _list(self, options: dict[str, Any]) -> None:
        organization = _find_organization(options["organization"])
        rows = server_keys.list_by_organization([organization.pk], self.kinds)
        for one in server_keys.list_with_status(rows):
            row = one.row
            self.stdout.write(f"{row.pk}  {one.status:8} {row.kind:5} {row.name} ({row.scope})")

    def _revoke(self, options: dict[str, Any]) -> None:
        row = server_keys.find(options["id"], self.kinds)
        if row is None:
            raise CommandError("There is no API key with this id.")
        ended = server_keys.revoke(row, user=None, address=ADDRESS)
        self.stdout.write("Revoked." if ended else "This key was already revoked.")


def add_organization(parser: CommandParser) -> None:
    """Adds the option that names an organization; `--workspace` is an older name of it."""
    parser.add_argument(
        "--organization",
        "--workspace",
        dest="organization",
        required=True,
        help="short name of the organization",
    )


def _find_organization(slug: str) -> Organization:
    found = Organization.objects.filter(slug=slug).first()
    if found is None:
        names = ", ".join(Organization.objects.order_by("slug").values_list("slug", flat=True)[:20])
        raise CommandError(f"There is no organization {slug!r}. There are: {names or 'none'}.")
    return found
