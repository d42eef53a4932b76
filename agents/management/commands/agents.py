"""manage.py agents key create, list, revoke: API keys of the Agent Application Protocol."""

from collections.abc import Mapping

from django.conf import settings

from oauth import addresses, server_keys
from oauth.management.key_command import KeyCommand
from workspace.models import Organization


class Command(KeyCommand):
    help = "Create, list and revoke API keys for agents."
    kinds = server_keys.AGENT_KINDS
    scopes = server_keys.AGENT_SCOPES

    def addresses(self, organization: Organization) -> Mapping[str, str]:  # noqa: ARG002  one for all
        return {"base_url": addresses.url(settings.HALO_AGENTS_PATH)}
