"""Calls to a vendor that is busy, slow, wrong or gone, and what is on record of them."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from audit.models import ActionExecution
from foundation import outbound
from foundation.outbound import retry
from foundation.outbound.breaker import FAILURES
from tests.drivers.fake_vendors import help_desk, site
from tests.drivers.fake_vendors.site import Answer, Site
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient, Reply
from tools_registry import vendors
from tools_registry.api import Cancelled, IntegrationFailure
from tools_registry.vendors import retries, slots

READ, KEYED, UNKEYED = "desk.get_ticket", "desk.open_ticket", "desk.comment"


@pytest.fixture
def vendor(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The help desk's site; who repeats a request hardly pauses."""
    monkeypatch.setattr(retry, "FIRST_DELAY", 0.001)
    with help_desk.open_desk(settings) as opened:
        yield opened


@pytest.fixture
def mcp(grant: Grant, vendor: Site) -> McpClient:  # noqa: ARG001  its site has to be there
    help_desk.connect(grant)
    return McpClient(grant.token())


@pytest.fixture
def far_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline of a call stays far away, however busy the machine is."""
    monkeypatch.setattr(retries.CallDeadline, "remaining", lambda _deadline: 60.0)


def recorded_call() -> tuple[str, str, str, int | None]:
    row = ActionExecution.objects.latest("id")
    assert row.duration_us is not None
    return row.outcome, row.reason, row.detail, row.upstream_status


def assert_failed(reply: Reply, message: str, status: int | None) -> None:
    """The caller and the audit row get the same message and no more."""
    assert (reply.status, reply.error["message"]) == (200, message)
    assert recorded_call() == ("integration_error", "integration", message, status)


def test_a_request_carries_the_credential_and_the_key_of_its_call(
    mcp: McpClient, vendor: Site
) -> None:
    vendor.script(site.saying({"id": 7}))
    assert mcp.call(KEYED).facts == {"id": 7}
    [seen] = vendor.seen
    assert (seen.method, seen.path, seen.json) == ("POST", "/tickets", {"queue": ""})
    assert seen.headers["authorization"] == f"Bearer {help_desk.SECRET}"
    assert len(seen.headers["x-desk-key"]) == 32
    assert recorded_call() == ("success", "", "", None)


@pytest.mark.usefixtures("far_deadline")
@pytest.mark.parametrize("tool", [READ, KEYED, UNKEYED])
@pytest.mark.parametrize(
    "busy",
    [
        site.busy("0"),
        site.busy("Sun, 01 Mar 2020 12:00:00 GMT"),
        site.saying({}, 400, {"X-Desk-Wait": "0.01"}),
    ],
    ids=["seconds", "date", "hook"],
)
def test_a_busy_vendor_is_asked_again_when_it_says(
    mcp: McpClient, vendor: Site, tool: str, busy: Answer
) -> None:
    vendor.script(busy, busy, site.saying({"id": 1}))
    assert mcp.call(tool).facts == {"id": 1}
    keys = {seen.headers.get("x-desk-key") for seen in vendor.seen}
    assert (len(vendor.seen), len(keys)) == (3, 1)


@pytest.mark.usefixtures("far_deadline")
def test_a_vendor_that_stays_busy_is_asked_a_few_times(mcp: McpClient, vendor: Site) -> None:
    vendor.usual = site.busy("0")
    assert_failed(mcp.call(READ), "Help desk answered 429. Try again in 1 second.", 429)
    assert len(vendor.seen) == 4


@pytest.mark.parametrize(
    ("busy", "when"),
    [
        (site.busy("37"), "in 37 seconds"),
        (site.busy("999999999"), "later"),
        (site.busy(), "in 1 second"),
        (site.saying({}, 429, {"X-Desk-Wait": "inf"}), "later"),
    ],
    ids=["long", "lying", "unnamed", "never"],
)
def test_a_wait_that_does_not_fit_is_refused_with_the_time_to_come_again(
    mcp: McpClient, vendor: Site, busy: Answer, when: str
) -> None:
    vendor.usual = busy
    assert_failed(mcp.call(READ), f"Help desk answered 429. Try again {when}.", 429)
    assert len(vendor.seen) == 1


@pytest.mark.usefixtures("far_deadline")
@pytest.mark.parametrize("tool", [READ, KEYED])
@pytest.mark.parametrize(
    "trouble", [site.saying({}, 503), site.resetting], ids=["status", "connection"]
)
def test_what_is_safe_to_repeat_is_repeated_after_trouble(
    mcp: McpClient, vendor: Site, tool: str, trouble: Answer
) -> None:
    vendor.script(trouble, trouble, site.saying({"id": 1}))
    assert mcp.call(tool).facts == {"id": 1}
    assert len(vendor.seen) == 3


def test_a_write_without_a_key_is_never_repeated(mcp: McpClient, vendor: Site) -> None:
    vendor.script(site.saying({}, 503))
    unknown = (
        "The outcome is unknown: Help desk may have carried out the request. Check before you try "
        "again."
    )
    assert_failed(mcp.call(UNKEYED), f"Help desk answered 503. {unknown}", 503)
    vendor.script(site.resetting)
    assert_failed(mcp.call(UNKEYED), f"Help desk: the connection failed. {unknown}", None)
    assert len(vendor.seen) == 2


@pytest.mark.parametrize("status", [400, 409, 501])
def test_a_refusal_is_never_repeated(mcp: McpClient, vendor: Site, status: int) -> None:
    vendor.usual = site.saying({"secret": help_desk.SECRET}, status)
    assert_failed(mcp.call(READ), f"Help desk answered {status}.", status)
    assert len(vendor.seen) == 1


NO_JSON = "The vendor returned a response that is not valid JSON."
BAD = {
    "huge": (site.HUGE, "Help desk: the answer is too large.", None),
    "bomb": (site.BOMB, "Help desk: the answer is too large.", None),
    "garbage": (site.GARBAGE, NO_JSON, 200),
    "nan": (
        site.sending(b'{"a": NaN}'),
        NO_JSON,
        200,
    ),
    "infinite": (
        site.sending(b'{"total": 1e999}'),
        NO_JSON,
        200,
    ),
    "deep": (
        site.sending(b"[" * 100_000),
        NO_JSON,
        200,
    ),
    "latin": (
        site.sending(b'"\xe9"'),
        NO_JSON,
        200,
    ),
    "internal": (
        site.saying({}, 302, {"Location": "http://169.254.169.254/latest/meta-data"}),
        "Help desk answered 302.",
        302,
    ),
    "elsewhere": (
        site.saying({}, 307, {"Location": "https://evil.example/"}),
        "Help desk answered 307.",
        307,
    ),
}


@pytest.mark.parametrize("bad", BAD)
def test_o13_a_lying_vendor_is_a_clear_failure(mcp: McpClient, vendor: Site, bad: str) -> None:
    vendor.usual, message, status = BAD[bad]
    assert_failed(mcp.call(READ), message, status)
    assert len(vendor.seen) == 1


def test_text_that_no_database_stores_arrives_spelled_out(mcp: McpClient, vendor: Site) -> None:
    vendor.script(site.sending(rb'{"a": "\u0000\ud800"}'))
    assert mcp.call(READ).facts == {"a": r"\u0000\ud800"}


@pytest.mark.parametrize("slow", ["silent", "dripping"])
def test_a_slow_vendor_ends_with_the_deadline_of_the_call(
    mcp: McpClient, vendor: Site, slow: str
) -> None:
    vendor.usual = {"silent": site.silent, "dripping": site.dripping}[slow](vendor.over)
    reply = mcp.call(READ)
    assert reply.error["message"] in {
        "Help desk: it did not respond in time.",
        "Help desk did not answer in time.",
    }
    assert recorded_call()[:2] == ("integration_error", "integration")


def test_all_requests_of_a_call_share_one_deadline(
    mcp: McpClient, vendor: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []
    fetch = outbound.fetch

    def noting(*args: Any, policy: Any, **more: Any) -> Any:
        given.append(policy.deadline)
        return fetch(*args, policy=policy, **more)

    monkeypatch.setattr(outbound, "fetch", noting)
    assert len(mcp.call("desk.walk").facts) == len(vendor.seen) == 8
    assert given == sorted(given, reverse=True)
    assert help_desk.IMPATIENT >= given[0] > given[-1]


def test_a_vendor_that_keeps_failing_is_left_alone_for_a_while(
    mcp: McpClient, vendor: Site
) -> None:
    vendor.usual = site.saying({}, 503)
    for _ in range(FAILURES):
        mcp.call(UNKEYED)
    assert_failed(mcp.call(READ), "Help desk is not responding. Try again in 30 seconds.", None)
    assert len(vendor.seen) == FAILURES


def test_repeating_stops_when_the_vendor_is_given_up(mcp: McpClient, vendor: Site) -> None:
    vendor.usual = site.saying({}, 503)
    assert_failed(mcp.call(READ), "Help desk answered 503.", 503)
    assert_failed(mcp.call(READ), "Help desk answered 503.", 503)
    assert len(vendor.seen) == FAILURES


def test_refusals_are_no_failures_of_the_vendor(mcp: McpClient, vendor: Site) -> None:
    vendor.usual = site.saying({}, 404)
    for _ in range(FAILURES + 1):
        mcp.call(READ)
    assert len(vendor.seen) == FAILURES + 1


def test_an_organization_s_dead_vendor_is_another_s_living_one(
    mcp: McpClient, vendor: Site
) -> None:
    vendor.usual = site.saying({}, 503)
    for _ in range(FAILURES):
        mcp.call(UNKEYED)
    vendor.usual = site.saying({"id": 1})
    other = make_grant()
    help_desk.connect(other, "another-key")
    assert McpClient(other.token()).call(READ).facts == {"id": 1}
    assert vendor.seen[-1].headers["authorization"] == "Bearer another-key"


class Left:
    """The channel of a caller that has gone once the vendor was asked."""

    def __init__(self, vendor: Site) -> None:
        self.vendor = vendor

    def progress(self, done: float, total: float | None, message: str) -> None: ...

    def log(self, level: str, data: Any) -> None: ...

    def is_cancelled(self) -> bool:
        return self.vendor.asked.is_set()


def test_nobody_is_waited_for_in_the_name_of_a_caller_that_has_gone(
    grant: Grant, vendor: Site
) -> None:
    help_desk.connect(grant)
    vendor.usual = site.saying({}, 429, {"X-Desk-Wait": "0.3"})
    speaking = vendors.get_vendor(grant.organization.pk, "desk", Left(vendor))
    with pytest.raises(Cancelled):
        speaking.send("GET", "/tickets/1")
    assert len(vendor.seen) == 1


@pytest.mark.parametrize(("method", "is_left"), [("GET", True), ("POST", False)])
def test_the_silence_after_a_read_is_not_sat_out_for_a_caller_that_has_gone(
    grant: Grant, vendor: Site, method: str, *, is_left: bool
) -> None:
    help_desk.connect(grant)
    vendor.usual = site.silent(vendor.over)
    speaking = vendors.get_vendor(grant.organization.pk, "desk", Left(vendor))
    with pytest.raises(Cancelled if is_left else IntegrationFailure):
        speaking.send(method, "/tickets/1")
    assert len(vendor.seen) == 1


@pytest.mark.parametrize("path", [".evil.example/x", "@evil.example/", "", "/a/../b", "/.."])
def test_a_path_never_leads_away_from_the_vendor(grant: Grant, vendor: Site, path: str) -> None:
    help_desk.connect(grant)
    with pytest.raises(IntegrationFailure, match="invalid path"):
        vendors.get_vendor(grant.organization.pk, "desk").send("GET", path)
    assert vendor.seen == []


def test_an_organization_has_a_share_of_the_calls_that_wait(
    mcp: McpClient, grant: Grant, vendor: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots, "MAX_WAIT_SECONDS", 0.1)
    desk = vendors.find_upstream(grant.organization.pk, "desk")
    with vendors.hold_slot(desk), vendors.hold_slot(desk):
        assert mcp.call(READ).facts == {}
        with vendors.hold_slot(desk), vendors.hold_slot(desk):
            for tool in (READ, UNKEYED):
                reply = mcp.call(tool)
                assert (reply.status, reply.headers["retry-after"]) == (503, "5")
                assert reply.error["data"]["retryAfterSeconds"] == 5
            assert mcp.call("search_docs", {"query": "tokens"}).facts
    assert len(vendor.seen) == 1
    assert mcp.call(READ).facts == {}


def test_a_tool_without_a_vendor_is_not_limited(grant: Grant) -> None:
    organization = grant.organization.pk
    for _ in range(3):
        for integration in ("", "crm"):
            assert vendors.find_upstream(organization, integration) is None
            with vendors.hold_slot(None):
                pass
    with pytest.raises(IntegrationFailure, match="not connected"):
        vendors.get_vendor(organization, "crm").send("GET", "/")


@pytest.mark.django_db(transaction=True)
def test_no_transaction_is_open_while_a_vendor_is_waited_for(
    vendor: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[bool, bool]] = []
    fetch = outbound.fetch

    def looking(*args: Any, **more: Any) -> Any:
        seen.append((connection.in_atomic_block, connection.get_autocommit()))
        writer = threading.Thread(target=_write)
        writer.start()
        writer.join(5)
        assert not writer.is_alive()
        return fetch(*args, **more)

    grant = make_grant()
    help_desk.connect(grant)
    monkeypatch.setattr(outbound, "fetch", looking)
    assert McpClient(grant.token()).call(KEYED).facts == {}
    assert seen == [(False, True)]
    assert len(vendor.seen) == 1


def _write() -> None:
    """Somebody else's write, which a lock that is held would keep waiting."""
    ActionExecution.objects.update(detail="seen")
    connection.close()
