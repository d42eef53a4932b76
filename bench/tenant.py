"""Fills one database of the comparison, and checks it afterwards.

`python -m bench.tenant ACT [TOOL]...` with the settings of the database in the environment prints
its result as JSON.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "halo_mcp.settings")

import django

django.setup()

from django.conf import settings  # noqa: E402  apps first
from django.utils import timezone  # noqa: E402  apps first

from audit.models import ActionExecution  # noqa: E402
from bench import data_store, equal_work, tables  # noqa: E402
from bench.greeting import ACTION, INTEGRATION  # noqa: E402
from bench.tools import CUSTOMER, DATA  # noqa: E402
from documentation import index  # noqa: E402
from oauth import addresses, scopes  # noqa: E402
from oauth.grants import authorizations, tokens  # noqa: E402
from oauth.models import Authorization, AuthorizationRequest, Client  # noqa: E402
from tools_registry.models import ActionToggle, IntegrationMode  # noqa: E402
from workspace import flags, organizations  # noqa: E402
from workspace.models import (  # noqa: E402
    Agent,
    Event,
    FeatureFlag,
    Membership,
    Organization,
    User,
)

SCOPE: Final = "setup:read docs:read data:read actions:*"
# data_find_user counts the events of this time, and no run takes longer than the other.
COUNTED: Final = timedelta(days=30)
MAX_RUN: Final = timedelta(hours=6)


def found(*tools: str) -> Mapping[str, Any]:
    """What every database begins with: a connection's token, and what calls of these tools do."""
    token = connected()
    if not DATA.keys().isdisjoint(tools):
        _add_demo_data()
    return {"token": token, "work": equal_work.of_calls(tools, token), "rows": count()}


def connected() -> str:
    """Make the tables, the documentation index and one connection; returns its token."""
    tables.make()
    index.refresh(settings.HALO_DOCS_SOURCE)
    organizations.found("Bench", owner=User.objects.create_user("bench@example.com"))
    client = Client.objects.create(client_id="bench", name="Bench")
    asked = AuthorizationRequest(client=client, resource=addresses.resource())
    scope = scopes.parse(SCOPE)
    root = authorizations.give(asked, Membership.objects.select_related().get(), scope)
    _switch_on()
    return tokens.issue(root, scope).access


def _add_demo_data() -> None:
    """Adds the small demo data; figures of the customer stay the same during a run."""
    data_store.filled("small")
    leaving = timezone.now() - COUNTED
    events = Event.objects.filter(customer__email_key=CUSTOMER)
    events.filter(at__range=(leaving, leaving + MAX_RUN)).delete()


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


def switch_off_action() -> int:
    """Disable the action, as an admin does."""
    return ActionToggle.objects.update(enabled=False)


def switch_off_server() -> bool:
    """Turn the MCP server off for the organization, as an admin does."""
    organization = Organization.objects.get()
    made = FeatureFlag.objects.create(
        organization=organization, name=flags.MCP_SERVER, enabled=False
    )
    return not made.enabled


def revoke() -> bool:
    """Revoke the connection, as its person does."""
    return authorizations.revoke(Authorization.objects.get().pk, reason="bench")


ACTS: Final[Mapping[str, Callable[[], Any]]] = {
    act.__name__: act for act in (found, count, switch_off_action, switch_off_server, revoke)
}

if __name__ == "__main__":
    json.dump(ACTS[sys.argv[1]](*sys.argv[2:]), sys.stdout)
