"""Fills a database before a measurement: complete organizations, and audit rows.

Organizations are created as the product does. Audit rows are inserted directly, since there may be
a million, in the order of their keys.
"""

import json
import random
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

SCOPE: Final = "actions:bench:*"
DAYS: Final = 90
# Of a hundred calls: how they ended, and in which layer.
ENDINGS: Final = (
    *[("success", "", "")] * 90,
    *[("refused", "scope_denied", "scope")] * 3,
    *[("refused", "agent_disabled", "agent")] * 2,
    *[("validation_failed", "validation", "")] * 2,
    *[("integration_error", "integration", "")] * 2,
    ("rate_limited", "rate_limited", "rate_limit"),
)
TOOLS: Final = (
    ("search_docs", "", "", {"query": "rate limits of the API"}),
    ("hubspot.find_contact", "hubspot", "find_contact", {"email": "ada@example.com"}),
    ("linear.create_bug", "linear", "create_bug", {"title": "The export hangs", "priority": "low"}),
    ("slack.post_message", "slack", "post_message", {"channel": "support", "text": "On it."}),
)
COLUMNS: Final = (
    *("id", "started_at", "duration_us", "organization_id", "actor_kind", "surface", "client_id"),
    *("client_name", "user_id", "user_email", "authorization_id", "token_id", "bound_customer_id"),
    *("method", "tool", "integration", "action", "arguments", "outcome", "reason", "layer"),
    *("detail", "upstream_status", "row_count", "request_id", "revision", "address"),
)
OTHERS: Final = 50


def organizations(first: int, last: int, actions: Sequence[str]) -> list[str]:
    """Found those numbered so, each with a person, a connection and its switches; their tokens."""
    return [_organization(number, actions) for number in range(first, last)]


def _organization(number: int, actions: Sequence[str]) -> str:
    from oauth import addresses, scopes  # noqa: PLC0415  settings first
    from oauth.grants import authorizations, tokens  # noqa: PLC0415  settings first
    from oauth.models import AuthorizationRequest, Client  # noqa: PLC0415
    from workspace import organizations as founding  # noqa: PLC0415
    from workspace.models import Membership, User  # noqa: PLC0415

    owner = User(email=f"owner-{number}@example.com")
    owner.set_unusable_password()
    owner.save()
    organization = founding.found(f"Bench {number}", owner=owner)
    _switch_on(organization, actions)
    membership = Membership.objects.select_related().get(organization=organization)
    client, _ = Client.objects.get_or_create(client_id="bench", defaults={"name": "Bench"})
    asked = AuthorizationRequest(client=client, resource=addresses.resource())
    scope = scopes.parse(SCOPE)
    return tokens.issue(authorizations.give(asked, membership, scope), scope).access


def _switch_on(organization: Any, actions: Sequence[str]) -> None:
    from tools_registry.models import ActionToggle, IntegrationMode  # noqa: PLC0415
    from workspace.models import Agent  # noqa: PLC0415  settings first

    IntegrationMode.objects.create(
        organization=organization, integration="bench", connection="connected"
    )
    agent = Agent.objects.get(organization=organization)
    ActionToggle.objects.bulk_create(
        ActionToggle(agent=agent, integration="bench", action=action, enabled=True)
        for action in actions
    )


def own_ids() -> tuple[str, str]:
    """The first organization and its authorization, as audit rows name them."""
    from django.db import connections  # noqa: PLC0415  settings first

    from oauth.models import Authorization  # noqa: PLC0415

    root = Authorization.objects.earliest("id")
    # What is connected to cannot be copied.
    connections.close_all()
    return str(root.organization_id), str(root.pk)


def audit_rows(count: int, own: tuple[str, str]) -> Iterator[tuple[Any, ...]]:
    """So many rows of the last 90 days, oldest first, in the order of COLUMNS; the same each time.

    Of 51 organizations, with four connections each, one is the caller's own.
    """
    chance = random.Random(count)  # noqa: S311  measurements, no secrets
    callers = [own, *((_uuid(chance), _uuid(chance)) for _ in range(OTHERS * 4))]
    span = DAYS * 86_400_000
    oldest = int(time.time() * 1000) - span
    for number in range(count):
        yield _row(chance, oldest + span * number // count, chance.choice(callers))


def _row(chance: random.Random, moment: int, caller: tuple[str, str]) -> tuple[Any, ...]:
    organization, authorization = caller
    tool, integration, action, arguments = chance.choice(TOOLS)
    outcome, reason, layer = chance.choice(ENDINGS)
    # UUIDv7 (RFC 9562 section 5.7): milliseconds first, so that keys grow as time does.
    key = f"{moment:012x}7{chance.getrandbits(12):03x}a{chance.getrandbits(60):015x}"
    started = datetime.fromtimestamp(moment / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    return (
        *(key, started, chance.randrange(900, 9_000), organization, "mcp_client", "workspace"),
        *("bench", "Claude", organization, "owner@example.com", authorization, key, ""),
        *("tools/call", tool, integration, action, json.dumps(arguments), outcome, reason, layer),
        *("", None, 1, key, "2025-11-25", "203.0.113.7"),
    )


def _uuid(chance: random.Random) -> str:
    digits = f"{chance.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
