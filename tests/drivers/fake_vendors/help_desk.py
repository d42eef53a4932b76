"""An integration for tests, with the help desk of an invented vendor."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from foundation.outbound.breaker import Breakers
from tests.drivers.fake_vendors import site
from tests.drivers.fake_vendors.site import Site
from tests.drivers.fixture_tools import NOTHING
from tests.drivers.grants import Grant
from tools_registry import registry
from tools_registry.api import (
    Arguments,
    Facts,
    Setting,
    ToolContext,
    Toolset,
    Vendor,
    VendorConnection,
    VendorResponse,
)
from tools_registry.models import IntegrationMode
from tools_registry.vendors import client, credentials, slots

SECRET = "desk-key-nobody-may-see"
ACTIONS = ("get_ticket", "open_ticket", "comment", "walk", "idle")
IMPATIENT = 1.5


def check(vendor: Vendor) -> str:
    value = vendor.send("GET", "/me").value
    return f"the desk {value['desk']}"


def waits(answer: VendorResponse) -> float | None:
    """This vendor says how long, in a header of its own."""
    message = answer.headers.get("x-desk-wait")
    return float(message) if message else None


CONNECTION = VendorConnection(
    base_url="https://desk.example",
    credential="API key",
    credential_help="It is under Settings, Keys.",
    check=check,
    waits=waits,
    idempotency_header="X-Desk-Key",
    settings=(
        Setting("queue", "Queue", help="Where tickets go.", pattern="[a-z]{2,10}", required=True),
        Setting("team", "Team"),
    ),
    deadline=IMPATIENT,
)
DESK = Toolset(integration="desk", title="Help desk", connection=CONNECTION)


@DESK.tool(title="Get a ticket", description="Reads.", input_schema=NOTHING)
def get_ticket(context: ToolContext, _arguments: Arguments) -> Facts:
    return Facts(context.vendor.send("GET", "/tickets/1").value)


@DESK.tool(title="Open a ticket", description="Writes.", input_schema=NOTHING, mutates=True)
def open_ticket(context: ToolContext, _arguments: Arguments) -> Facts:
    sent = {"queue": context.vendor.settings.get("queue", "")}
    key = context.call_id
    return Facts(context.vendor.send("POST", "/tickets", json=sent, idempotency_key=key).value)


@DESK.tool(title="Comment", description="Writes.", input_schema=NOTHING, mutates=True)
def comment(context: ToolContext, _arguments: Arguments) -> Facts:
    return Facts(context.vendor.send("POST", "/comments", json={"text": "hello"}).value)


@DESK.tool(title="Walk", description="Reads page after page.", input_schema=NOTHING, streams=True)
def walk(context: ToolContext, _arguments: Arguments) -> Facts:
    context.progress(0)
    return Facts([context.vendor.send("GET", f"/pages/{number}").value for number in range(8)])


@DESK.tool(title="Idle", description="Asks nothing of anybody.", input_schema=NOTHING)
def idle(_context: ToolContext, _arguments: Arguments) -> Facts:
    return Facts("done")


# The same vendor for callers with time to spare.
PATIENT_DESK = Toolset(
    integration="patient",
    title="Patient desk",
    connection=replace(CONNECTION, base_url="https://patient.example", deadline=60),
)


@PATIENT_DESK.tool(title="Ask", description="Waits long.", input_schema=NOTHING)
def ask(context: ToolContext, _arguments: Arguments) -> Facts:
    return Facts(context.vendor.send("GET", "/tickets/1").value)


def connect(grant: Grant, secret: str = SECRET) -> IntegrationMode:
    """The organization's desk, connected, with all of its actions on."""
    grant.connect("desk", enabled=ACTIONS)
    mode = IntegrationMode.objects.get(organization=grant.organization, integration="desk")
    credentials.store(mode, secret)
    return mode


@contextmanager
def open_desk(settings: Any) -> Iterator[Site]:
    """The toolset in the registry and its vendor's site on the loopback; nobody rests."""
    rested = patch.object(client, "breakers", Breakers())
    with rested, registry.including(DESK), site.serving(Site()) as desk:
        settings.HALO_VENDOR_URLS = {"desk": desk.url}
        slots.get_process_slots.cache_clear()
        yield desk
