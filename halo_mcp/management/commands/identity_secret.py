"""manage.py identity_secret: the one way to an organization's identity secret, for operators."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from audit import record
from foundation.peer import UNKNOWN
from foundation.sealing import SealBroken
from workspace import organizations
from workspace.models import Organization


class Command(BaseCommand):
    help = "Print the secret that signs an organization's identity tokens, and put it on record."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("organization", help="its short name")
        parser.add_argument(
            "--rotate",
            action="store_true",
            help="make a new secret first; tokens that the old one signed are refused from then on",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        organization, rotate = _named(options["organization"]), options["rotate"]
        reveal = organizations.rotate_identity_secret if rotate else _kept
        kind = "identity_secret_rotated" if rotate else "identity_secret_shown"
        place = str(organization.pk)
        # What cannot be put on record does not happen.
        with transaction.atomic():
            secret = reveal(organization)
            record.security_event(kind, address=UNKNOWN, subject=place, organization_id=place)
        # Alone on its line, for a program to read.
        self.stdout.write(secret)


def _named(slug: str) -> Organization:
    organization = Organization.objects.filter(slug=slug).first()
    if organization is None:
        raise CommandError(f"No organization has the short name {slug!r}.")
    return organization


def _kept(organization: Organization) -> str:
    try:
        secret = organizations.identity_secret(organization)
    except SealBroken as broken:
        raise CommandError(
            f"The secret cannot be opened: {broken} Put the key that sealed it into "
            "HALO_SEALING_KEYS, or make a new secret with --rotate."
        ) from broken
    if secret is None:
        raise CommandError("This organization has no secret. Make one with --rotate.")
    return secret
