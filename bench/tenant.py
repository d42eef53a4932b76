"""What one database of the comparison holds, and what is asked of it afterwards.

`python -m bench.tenant ACT` with the settings in the environment, as every process that opens the
database has them; what it found out leaves as JSON on standard output.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "halo_mcp.settings")

import django

django.setup()

from django.core.management import call_command  # noqa: E402  apps first

from audit.models import ActionExecution  # noqa: E402
from bench import equal_work  # noqa: E402
from bench.greeting import ACTION, INTEGRATION  # noqa: E402
from oauth import addresses, authorizations, scopes, tokens  # noqa: E402
from oauth.models import Authorization, AuthorizationRequest, Client  # noqa: E402
from tools_registry.models import ActionToggle, IntegrationMode  # noqa: E402
from workspace import organizations  # noqa: E402
from workspace.models import Agent, Membership, Organization, User  # noqa: E402

SCOPE: Final = "actions:*"


def found() -> Mapping[str, Any]:
    """Tables, and one connection that may call the greeting; its token, and what a call does."""
    call_command("migrate", verbosity=0)
    organizations.found("Bench", owner=User.objects.create_user("bench@example.com"))
    client = Client.objects.create(client_id="bench", name="Bench")
    asked = AuthorizationRequest(client=client, resource=addresses.resource())
    scope = scopes.parse(SCOPE)
    root = authorizations.give(asked, Membership.objects.select_related().get(), scope)
    _switch_on()
    token = tokens.issue(root, scope).access
    return {"token": token, "work": equal_work.of_a_call(token), "rows": count()}


def _switch_on() -> None:
    IntegrationMode.objects.create(
        organization=Organization.objects.get(), integration=INTEGRATION, connection="connected"
    )
    ActionToggle.objects.create(
        agent=Agent.objects.get(), integration=INTEGRATION, action=ACTION, enabled=True
    )


def count() -> int:
    """How many calls are on record."""
    return ActionExecution.objects.count()


def switch_off() -> int:
    """Disable the action, as an admin does."""
    return ActionToggle.objects.update(enabled=False)


def revoke() -> bool:
    """Revoke the connection, as its person does."""
    return authorizations.revoke(Authorization.objects.get().pk, reason="bench")


ACTS: Final[Mapping[str, Callable[[], Any]]] = {
    act.__name__: act for act in (found, count, switch_off, revoke)
}

if __name__ == "__main__":
    json.dump(ACTS[sys.argv[1]](), sys.stdout)
