"""Calls to an API that is slow: other calls go on, and the rest is refused with a time to wait."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from uuid import uuid4

import pytest

from audit.models import ActionExecution
from gateway import outbound_policy, policies
from gateway.models import Project
from mcp_protocol.revisions import REVISIONS, Revision
from tests.drivers.fake_vendors import site as sites
from tests.drivers.fake_vendors.site import Site, serving
from tests.gateway import shop
from tests.gateway.shop import Shop
from tools_registry import vendors
from tools_registry.vendors import slots
from tools_registry.vendors.slots import Slots, Upstream, UpstreamBusy

SHARE = 4  # a quarter of HALO_VENDOR_CALLS
BUSY = "Too many calls wait for this API at the moment"


def upstream_of(project: Project) -> Upstream:
    """What calls of the project wait for."""
    origin = outbound_policy.origin(project.target_url)
    return Upstream(
        project.organization_id, policies.PROJECT_SURFACES.name_of(project.pk), origin, 30.0
    )


@contextmanager
def hold_calls(upstream: Upstream, calls: int = SHARE) -> Iterator[ExitStack]:
    """So many calls hang meanwhile, or until the stack is closed."""
    with ExitStack() as stack:
        for _ in range(calls):
            stack.enter_context(vendors.hold_slot(upstream))
        yield stack


@pytest.fixture(autouse=True)
def own_slots(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    slots.get_process_slots.cache_clear()
    monkeypatch.setattr(slots, "MAX_WAIT_SECONDS", 0.2)
    yield
    slots.get_process_slots.cache_clear()


@pytest.fixture
def other_shop(open_shop: Shop) -> Iterator[Shop]:
    """Another project of the same organization, with an API of its own."""
    with serving(Site()) as site:
        project = shop.create_project(open_shop.grant, site, name="Other shop")
        with shop.endpoint(open_shop.grant, project) as mcp:
            yield Shop(open_shop.grant, site, project, mcp)


def test_a_project_whose_api_hangs_refuses_no_call_of_another_project(
    open_shop: Shop, other_shop: Shop
) -> None:
    with hold_calls(upstream_of(open_shop.project)):
        for _ in range(SHARE + 1):
            assert "error" not in other_shop.mcp.call("getItem", {"id": "9"}).json
        assert BUSY in open_shop.mcp.call("getItem", {"id": "9"}).error["message"]
    assert (len(other_shop.site.seen), len(open_shop.site.seen)) == (SHARE + 1, 0)
    assert "error" not in open_shop.mcp.call("getItem", {"id": "9"}).json


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_call_without_a_slot_is_refused_with_the_seconds_to_wait(
    open_shop: Shop, revision: Revision
) -> None:
    with hold_calls(upstream_of(open_shop.project)):
        reply = open_shop.mcp.with_revision(revision).call("createItem", {"title": "Wax"})
    assert (reply.status, reply.headers["retry-after"]) == (503, "5")
    assert reply.error["code"] == -32603
    assert reply.error["data"] == {"reason": "busy", "retryAfterSeconds": 5}
    row = ActionExecution.objects.get()
    assert (row.outcome, row.reason) == ("rate_limited", "busy")
    assert open_shop.site.seen == []


def test_a_call_waits_in_turn_and_runs_once_a_slot_is_free(
    open_shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots, "MAX_WAIT_SECONDS", 20.0)
    with hold_calls(upstream_of(open_shop.project)) as stack:
        release = threading.Timer(0.3, stack.close)
        release.start()
        assert "error" not in open_shop.mcp.call("createItem", {"title": "Wax"}).json
        release.join()
    assert len(open_shop.site.seen) == 1


def test_the_wait_for_a_slot_is_a_part_of_the_time_of_the_call(
    open_shop: Shop, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.HALO_GATEWAY_TIMEOUT_SECONDS = 2
    monkeypatch.setattr(slots, "MAX_WAIT_SECONDS", 20.0)
    open_shop.site.script(sites.silent(open_shop.site.over))
    with hold_calls(upstream_of(open_shop.project)) as stack:
        release = threading.Timer(0.8, stack.close)
        release.start()
        open_shop.mcp.call("listItems", {})
        release.join()
    duration = ActionExecution.objects.get().duration_us / 1_000_000
    assert 1.8 < duration < 2.6


def test_an_idempotency_key_is_new_after_a_call_without_a_slot(open_shop: Shop) -> None:
    def create() -> Any:
        params = {"name": "createItem", "arguments": {"title": "Wax"}}
        return open_shop.mcp.request(
            "tools/call", {**params, "_meta": {"idempotency_key": "wax-1"}}
        ).json

    with hold_calls(upstream_of(open_shop.project)):
        assert create()["error"]["data"]["reason"] == "busy"
    assert "error" not in create()
    assert len(open_shop.site.seen) == 1


def take(free: Slots, upstream: Upstream, most: int = 100) -> int:
    """Takes the slots that there are, without a wait; returns how many."""
    taken = 0
    while taken < most:
        try:
            free.acquire(upstream, lambda: True)
        except UpstreamBusy:
            break
        taken += 1
    return taken


def upstream(organization: str, target: str, origin: str) -> Upstream:
    return Upstream(organization, target, origin, 30.0)  # type: ignore[arg-type]  a key like others


def test_an_origin_and_an_organization_leave_slots_to_others() -> None:
    free = Slots(16)
    assert [take(free, upstream(f"org-{n}", "p", "slow")) for n in range(8)] == [
        *(4, 4),
        *(1, 1, 1, 1, 0, 0),
    ]
    assert take(free, upstream("org-9", "p", "other")) == 1
    free = Slots(16)
    assert [take(free, upstream("org", f"p{n}", f"o{n}")) for n in range(4)] == [4, 4, 0, 0]
    assert [take(free, upstream(f"org-{n}", "p", f"o{n}")) for n in range(3)] == [1, 1, 1]


@pytest.mark.parametrize("total", [1, 2, 3, 4, 7])
def test_the_fewest_slots_serve_one_project_after_another(total: int) -> None:
    free = Slots(total)
    assert take(free, upstream("org", "a", "o")) >= 1
    if total > 1:
        assert take(free, upstream("org", "b", "p")) == 1


def test_few_calls_of_a_project_wait_so_that_others_can() -> None:
    free, key = Slots(4), str(uuid4())
    slow = upstream(key, "slow", "slow")
    assert take(free, slow) == 1
    leave = threading.Event()
    threads = [
        threading.Thread(target=_wait, args=(free, slow, leave))
        for _ in range(slots.MAX_WAITING_OF_TARGET)
    ]
    for thread in threads:
        thread.start()
    while free.waiting < slots.MAX_WAITING_OF_TARGET:
        pass
    with pytest.raises(UpstreamBusy):
        free.acquire(slow, leave.is_set)
    assert take(free, upstream(key, "other", "other")) == 1
    free.release(slow)
    leave.set()
    for thread in threads:
        thread.join(10)
    assert (free.waiting, free.count_in_use(slow)) == (0, 0)


def _wait(free: Slots, slow: Upstream, leave: threading.Event) -> None:
    try:
        free.acquire(slow, leave.is_set)
    except UpstreamBusy:
        return
    free.release(slow)
