"""`./run bench hops`: the figures of one warm call, and what is counted."""

import asyncio
import re
import sys
from collections.abc import Iterator

import pytest

from bench.call_trace import Profiler, Trace
from foundation import ids, peer
from foundation.limits import Bucket, Limit
from tests.drivers.benchmarks import bench, short_run

FIGURE = re.compile(r"^  (\w[\w ]*?) +(\d+)", re.MULTILINE)


def trace_work(work: object) -> Trace:
    """What a function counts; the test's own functions are not the product's."""
    assert callable(work)
    trace = Trace()
    sys.setprofile(Profiler(trace))
    try:
        work()
    finally:
        sys.setprofile(None)
    return trace


@pytest.fixture(scope="module")
def printed_hops() -> dict[str, str]:
    """What one run prints of each tool at each revision, by its title."""
    done = short_run("hops", "--list")

    assert done.returncode == 0, done.stderr
    parts = (part.partition(",") for part in done.stdout.strip().split("\n\n"))
    return {title: rest for title, _, rest in parts}


def figures(part: str) -> dict[str, int]:
    return {name: int(number) for name, number in FIGURE.findall(part)}


@pytest.mark.once  # on SQLite wherever it runs
@pytest.mark.slow
def test_every_figure_of_a_call_is_printed(printed_hops: dict[str, str]) -> None:
    part = printed_hops["setup_get_jwt_sample at 2026-07-28"]
    found = figures(part)

    assert {
        "modules",
        "functions",
        "function calls",
        "module changes",
        "threads",
        "data objects",
        "data types",
        "carrier types",
    } <= set(found)
    # The event loop's thread, and one of the pool.
    assert found["threads"] == 2
    assert found["modules"] <= found["functions"] <= found["function calls"]
    assert "Principal 1" in part
    assert re.search(r"^    tools_registry.sources.setup \d+$", part, re.MULTILINE)


# At both revisions, a little above what they take: a call that needs more has got more hops.
LIMITS = {
    "setup_get_jwt_sample": {"modules": 38, "functions": 171, "carrier types": 13},
    "search_docs": {"modules": 44, "functions": 202, "carrier types": 13},
}


@pytest.mark.once  # on SQLite wherever it runs
@pytest.mark.slow
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("tool", LIMITS)
def test_a_warm_call_takes_no_more_modules_functions_and_carriers(
    printed_hops: dict[str, str], tool: str, revision: str
) -> None:
    found = figures(printed_hops[f"{tool} at {revision}"])

    assert {name: found[name] for name, limit in LIMITS[tool].items() if found[name] > limit} == {}


def test_a_tool_that_is_not_measured_is_refused() -> None:
    done = bench("hops", "--tool", "read_doc")

    assert done.returncode == 2
    assert "read_doc" in done.stderr


def test_modules_functions_and_calls_are_counted() -> None:
    peer.rate_key.cache_clear()  # what is cached is no call
    trace = trace_work(lambda: [ids.sha256_hex("a"), ids.sha256_hex("b"), peer.rate_key("::1")])

    assert list(trace.modules)[:2] == ["foundation.ids", "foundation.peer"]
    assert trace.modules["foundation.ids"] == 2
    assert ("foundation.ids", "sha256_hex") in {function[:2] for function in trace.functions}
    assert len(trace.functions) < trace.modules.total()
    assert trace.changes == 3  # each from the test


def test_objects_of_data_types_are_counted_with_their_names() -> None:
    trace = trace_work(lambda: [Bucket("a", Limit.parse("1/s")), Bucket("b", Limit.parse("1/s"))])

    assert trace.objects["Bucket"] == 2


def test_a_coroutine_that_continues_is_no_further_call(monkeypatch: pytest.MonkeyPatch) -> None:
    async def pausing() -> None:
        for _ in range(3):
            await asyncio.sleep(0)

    def several() -> Iterator[int]:
        yield from range(3)

    trace = Trace()
    begun: list[str] = []
    monkeypatch.setattr(trace, "note", lambda frame: begun.append(frame.f_code.co_name))
    sys.setprofile(Profiler(trace))
    try:
        asyncio.run(pausing())
        list(several())
    finally:
        sys.setprofile(None)

    assert begun.count("pausing") == begun.count("several") == 1
