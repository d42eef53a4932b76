"""manage.py identity_secret: prints or rotates the identity secret of an organization."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from audit import record
from foundation.peer import UNKNOWN
from foundation.sealing import SealBroken
from workspace import organizations
from workspace.models import Organization


class Command(BaseCommand):
    help = "Print the secret that signs an organization's identity tokens, and record that."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("organization", help="short name of the organization")
        parser.add_argument(
            "--rotate",
            action="store_true",
            help="create a new secret first; tokens signed with the old one are then refused",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        organization, rotate = _get_organization(options["organization"]), options["rotate"]
        reveal = organizations.rotate_identity_secret if rotate else _get_secret
        kind = "identity_secret_rotated" if rotate else "identity_secret_shown"
        place = str(organization.pk)
        # If the event cannot be recorded, the secret is not changed or printed.
        with transaction.atomic():
            secret = reveal(organization)
            record.security_event(kind, address=UNKNOWN, subject=place, organization_id=place)
        # Alone on its line, for a program to read.
        self.stdout.write(secret)


def _get_organization(slug: str) -> Organization:
    organization = Organization.objects.filter(slug=slug).first()
    if organization is None:
        raise CommandError(f"No organization has the short name {slug!r}.")
    return organization


def _get_secret(organization: Organization) -> str:
    try:
        secret = organizations.identity_secret(organization)
    except SealBroken as broken:
        raise CommandError(
            f"The secret cannot be decrypted: {broken} Add its key to HALO_SEALING_KEYS, or create "
            "a new secret with --rotate."
        ) from broken
    if secret is None:
        raise CommandError("This organization has no secret. Create one with --rotate.")
    return secret
