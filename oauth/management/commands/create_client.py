"""manage.py create_client: registers an OAuth client, as the admin page does."""

import json
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from audit import record
from foundation.peer import UNKNOWN
from oauth.clients import clients
from oauth.clients.client_metadata import AUTH_METHODS, ClientMetadata
from oauth.errors import OAuthError
from oauth.models import AuthMethod, Client


class Command(BaseCommand):
    help = "Register an OAuth client and print its client id and secret. The secret is shown once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", required=True, help="shown on the consent page")
        parser.add_argument(
            "--redirect-uri",
            required=True,
            action="append",
            dest="redirect_uris",
            help="matched exactly; repeat the option for more than one",
        )
        parser.add_argument(
            "--public", action="store_true", help="no secret, for a client on the user's device"
        )
        parser.add_argument(
            "--auth-method",
            choices=AUTH_METHODS[1:],
            default="client_secret_basic",
            help="how a confidential client sends its secret (default: %(default)s)",
        )
        parser.add_argument(
            "--native",
            action="store_true",
            help="the client runs on the user's device: allows reverse domain name schemes",
        )
        parser.add_argument("--json", action="store_true", help="print a JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        metadata = _metadata(options)
        client = Client()
        with transaction.atomic():
            clients.preregister(client, metadata)
            is_public = client.auth_method == AuthMethod.NONE
            secret = None if is_public else clients.rotate_secret(client)
            record.security_event(
                "client_created",
                address=UNKNOWN,
                subject=str(client.pk),
                client_id=client.client_id,
                detail="by manage.py create_client",
            )
        if options["json"]:
            printed = {"client_id": client.client_id, "client_secret": secret}
            self.stdout.write(json.dumps(printed))
            return
        self.stdout.write(f"Client ID: {client.client_id}")
        if secret:
            self.stdout.write(f"Client secret: {secret}")
            self.stderr.write("The secret is stored as a hash and will not be shown again.")


def _metadata(options: dict[str, Any]) -> ClientMetadata:
    stated = {
        "client_name": options["name"],
        "redirect_uris": options["redirect_uris"],
        "token_endpoint_auth_method": "none" if options["public"] else options["auth_method"],
        "application_type": "native" if options["native"] else "web",
    }
    try:
        return ClientMetadata.parse(stated, app_schemes=settings.HALO_APP_SCHEMES)
    except OAuthError as refused:
        raise CommandError(refused.hint) from refused
