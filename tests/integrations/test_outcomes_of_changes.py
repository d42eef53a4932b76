"""V2, V9, V24, V35: each change says whether it was done, not done, or that nobody knows.

Every action that changes something meets every fault, in front of the fake of its vendor, which
knows what was done.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import pytest

from foundation.outbound import retry
from foundation.outbound.breaker import Breakers
from integrations.linear import TOOLSET as LINEAR
from tests.drivers import billing
from tests.drivers.fake_vendors import contract, faults
from tests.drivers.fake_vendors import linear as linear_site
from tests.drivers.fake_vendors import stripe as stripe_site
from tests.drivers.fake_vendors.connected import connect, connect_toolset
from tests.drivers.fake_vendors.faults import FAULTS, ChangeFault, FaultyProxy
from tests.drivers.fake_vendors.hubspot import HubSpot
from tests.drivers.fake_vendors.linear import Linear, refusal
from tests.drivers.fake_vendors.site import saying
from tests.drivers.fake_vendors.slack import Slack
from tests.drivers.fake_vendors.stripe import Stripe
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient, Reply
from tools_registry import registry
from tools_registry.vendors import client

CONNECTION_OF = registry.connection
TRIAL_END = int(time.time()) + 30 * 86_400
BUG = {"title": "Login fails", "description": "It says 500."}
CALLS: dict[str, dict[str, Any]] = {
    "hubspot.create_deal": {"name": "Acme", "contact_id": "101"},
    "hubspot.update_contact": {"contact_id": "101", "properties": {"phone": "1"}},
    "hubspot.log_activity": {"subject": "Call back", "contact_id": "101"},
    "hubspot.create_note": {"text": "Called back.", "contact_id": "101"},
    "linear.create_bug": BUG,
    "linear.create_feature_request": BUG,
    "slack.post_message": {"text": "Hello"},
}
# How each of Stripe's actions is requested; an approval runs it.
REQUESTS: dict[str, tuple[str, Callable[[Stripe], dict[str, Any]]]] = {
    "stripe.refund": ("request_refund", lambda stripe: {"payment": stripe.charge(2000)}),
    "stripe.cancel_subscription": (
        "request_cancellation",
        lambda stripe: {
            "subscription": stripe.has("subscription", status="active", cancel_at_period_end=False)
        },
    ),
    "stripe.credit_customer": (
        "request_credit",
        lambda stripe: {
            "customer": stripe.has("customer", currency="usd"),
            "amount": 5,
            "currency": "usd",
        },
    ),
    "stripe.set_trial_end": (
        "extend_trial",
        lambda stripe: {
            "subscription": stripe.has("subscription", status="trialing", trial_end=TRIAL_END),
            "days": 1,
        },
    ),
}


@dataclass(frozen=True)
class VendorsBehindProxies:
    """Each vendor's fake is behind a proxy."""

    proxies: dict[str, FaultyProxy]
    linear: Linear
    stripe: Stripe


@pytest.fixture
def vendors(
    grant: Grant, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[VendorsBehindProxies]:
    monkeypatch.setattr(retry, "FIRST_DELAY", 0.001)
    hubspot, slack = HubSpot(), Slack()
    with ExitStack() as stack:
        stack.enter_context(contract.serving(hubspot))
        stack.enter_context(contract.serving(slack))
        linear = stack.enter_context(linear_site.serving())
        stripe, stripe_url = stack.enter_context(stripe_site.serving())
        urls = {
            "hubspot": hubspot.url,
            "slack": slack.url,
            "linear": linear.url,
            "stripe": stripe_url,
        }
        proxies = {n: stack.enter_context(faults.proxying(url)) for n, url in urls.items()}
        settings.HALO_VENDOR_URLS = {name: proxy.url for name, proxy in proxies.items()}
        connect(grant, "hubspot", hubspot, contact_properties="phone")
        connect(grant, "slack", slack, default_channel="general")
        connect_toolset(grant, LINEAR, linear_site.KEY, default_team="ENG")
        billing.connect(grant)
        yield VendorsBehindProxies(proxies, linear, stripe)


def set_deadline(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Lets each call to a vendor take so long."""

    def find(integration: str) -> Any:
        found = CONNECTION_OF(integration)
        return None if found is None else replace(found, deadline=seconds)

    monkeypatch.setattr(registry, "connection", find)


def outcome_of(reply: Reply) -> str:
    """What a client reads: done, not done or unknown."""
    if "result" in reply.json and not reply.result.get("isError"):
        return "done"
    message = reply.error["message"]
    if "The outcome is unknown: " in message:
        assert "Look for " in message
        assert message.endswith(" before you try again.")
        return "unknown"
    assert "Nothing was changed." in message or reply.code in {-32601, -32602}, message
    return "not done"


def faults_of(proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Lets the proxy have one fault after the other; none finds the vendor given up."""
    for name, fault in FAULTS.items():
        monkeypatch.setattr(client, "breakers", Breakers())
        # Nobody waits long for a vendor that is silent.
        set_deadline(monkeypatch, 0.5 if fault is not None and fault.answer is None else 20.0)
        proxy.fault, proxy.carried_out = fault, 0
        yield name
    proxy.fault = None


def assert_true(outcome: str, proxy: FaultyProxy, fault: str) -> None:
    """Require that the outcome that is reported is what happened."""
    possible = {0: {"not done", "unknown"}, 1: {"done", "unknown"}}[proxy.carried_out]
    if fault == "none":
        possible = {"done"}
    if fault.startswith(("refused", "busy")):
        possible = {"not done"}
    assert (fault, outcome) in {(fault, one) for one in possible}


def test_every_action_that_changes_something_is_tried_here() -> None:
    tools = [
        tool
        for toolset in registry.native_toolsets()
        if toolset.connection is not None
        for tool in toolset.tools
        if tool.mutates
    ]
    # These file a request in the workspace and send no change.
    requesting = {f"stripe.{name}" for name in billing.ASKING}
    assert {tool.name for tool in tools} == {*CALLS, *REQUESTS} | requesting


@pytest.mark.parametrize("tool", CALLS)
def test_a_client_reads_what_became_of_its_change(
    mcp: McpClient, vendors: VendorsBehindProxies, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    proxy = vendors.proxies[tool.partition(".")[0]]
    for fault in faults_of(proxy, monkeypatch):
        assert_true(outcome_of(mcp.call(tool, CALLS[tool])), proxy, fault)


@pytest.mark.parametrize("tool", REQUESTS)
def test_an_admin_reads_what_became_of_an_approved_change(
    mcp: McpClient, vendors: VendorsBehindProxies, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    request, arguments = REQUESTS[tool]
    boss = billing.decider()
    case = billing.RefundCase(mcp, vendors.stripe, "", "", boss, billing.browser_of(boss))
    for fault in faults_of(vendors.proxies["stripe"], monkeypatch):
        filed = mcp.call(f"stripe.{request}", arguments(vendors.stripe)).facts["request_id"]
        row = case.approve(filed)
        shown = {"done": "done", "failed": "not done", "unknown": "unknown"}[row.status]
        assert_true(shown, vendors.proxies["stripe"], fault)
        if shown == "unknown":
            assert "The outcome is unknown: Stripe may have carried out the" in row.problem
            assert "Look for " in row.problem


@pytest.mark.parametrize("tool", ["hubspot.create_deal", "linear.create_bug"])
def test_a_change_is_not_begun_with_too_little_time_for_its_answer(
    mcp: McpClient, vendors: VendorsBehindProxies, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    set_deadline(monkeypatch, 1.0)
    proxy = vendors.proxies[tool.partition(".")[0]]
    proxy.seconds_of_reads = 0.6
    reply = mcp.call(tool, CALLS[tool])
    assert outcome_of(reply) == "not done"
    assert "Nothing was changed." in reply.error["message"]
    assert proxy.changes == 0


@pytest.mark.parametrize("error", ["fatal_error", "internal_error", "service_unavailable"])
def test_an_error_of_slack_after_which_a_message_may_be_there_is_no_refusal(
    mcp: McpClient, vendors: VendorsBehindProxies, error: str
) -> None:
    proxy = vendors.proxies["slack"]
    proxy.fault = ChangeFault(is_forwarded=True, answer=saying({"ok": False, "error": error}))
    reply = mcp.call("slack.post_message", CALLS["slack.post_message"])
    assert outcome_of(reply) == "unknown"
    assert reply.error["message"] == (
        f"Slack failed: {error}. The outcome is unknown: Slack may have carried out the request. "
        "Look for the message in #general before you try again."
    )
    assert proxy.carried_out == 1


def test_an_issue_that_linear_made_before_it_reported_an_error_is_found(
    mcp: McpClient, vendors: VendorsBehindProxies
) -> None:
    error = refusal("Argument Validation", "INPUT_ERROR", "Bad.")
    vendors.linear.lose_creation(saying(error, 400))
    assert mcp.call("linear.create_bug", BUG).facts["identifier"] == "ENG-1"
    assert len(vendors.linear.issues) == 1


def test_a_vendor_that_is_away_is_named_with_the_time_of_its_return(
    mcp: McpClient, vendors: VendorsBehindProxies
) -> None:
    proxy = vendors.proxies["hubspot"]
    proxy.fault = ChangeFault(is_forwarded=False, answer=saying({}, 503, {"Retry-After": "90"}))
    reply = mcp.call("hubspot.create_note", CALLS["hubspot.create_note"])
    assert reply.error["message"] == (
        "HubSpot answered 503. It takes requests again in 90 seconds. The outcome is unknown: "
        "HubSpot may have carried out the request. Look for a new note of contact 101 before you "
        "try again."
    )
