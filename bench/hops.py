"""`./run bench hops`: what code one warm call runs, counted instead of timed.

For each tool and protocol revision: modules and functions of this repository, calls of functions,
calls that enter another module, threads, and objects of dataclasses and NamedTuples. Counted types
are those that pass data of the call from one module to the next (`call_trace.py`). Of ten calls the
one with the fewest function calls, and of those the one with the fewest functions, is reported:
background threads add to others, and a second id within one millisecond is made by one function
more. What runs only in a call that takes long, the watcher of its client and the growth of the
thread pool, is left out.
"""

import asyncio
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

from bench import harness, protocol
from bench.call_trace import Profiler, Trace
from bench.calls import LIMITS, SCOPE, SETUP_AND_DOCS
from bench.protocol import REVISIONS, Request

GOALS: Final = {"modules": 26, "functions": 140, "carrier types": 8}
# At once, so that every thread of the pool has a database connection; then one after the other.
WARM_UP: Final = (16, 16, 1, 1, 1)
TRACED: Final = 10
SETTLING_SECONDS: Final = 0.05
OK: Final = 200
# Longer than any call here takes.
NEVER_SECONDS: Final = 600.0


def main() -> int:
    parser = harness.options_parser("hops", __doc__)
    parser.set_defaults(store="sqlite")
    parser.add_argument("--tool", choices=SETUP_AND_DOCS)
    parser.add_argument("--revision", choices=REVISIONS)
    parser.add_argument("--list", action="store_true", help="the modules in order of first use")
    options = parser.parse_args()
    profiler = Profiler()
    # Threads start with it: before Python 3.12 it cannot be set for running ones.
    threading.setprofile(profiler)
    with harness.prepare(options, LIMITS):
        from bench import tenant  # noqa: PLC0415  settings first
        from halo_mcp.asgi import application  # noqa: PLC0415  the same

        (pair,) = tenant.create_grants(tenant.prepare_calls(), SCOPE)
        for tool in [options.tool] if options.tool else SETUP_AND_DOCS:
            for revision in [options.revision] if options.revision else REVISIONS:
                arguments = SETUP_AND_DOCS[tool]
                request = protocol.call_tool(revision, tool, arguments, pair.access)
                with _without_timers():
                    trace = asyncio.run(_trace_call(application, request, profiler))
                lines = _report(f"{tool} at {revision}", trace, modules=options.list)
                sys.stdout.write("\n".join([*lines, "", ""]))
    return harness.GOOD


@contextmanager
def _without_timers() -> Iterator[None]:
    """No call takes long enough for what its edge and its thread pool do then."""
    from foundation.concurrency import thread_pool  # noqa: PLC0415  the environment first
    from tools_registry.endpoint import asgi  # noqa: PLC0415  the same

    with (
        patch.object(asgi, "WATCHES_AFTER", NEVER_SECONDS),
        patch.object(thread_pool, "GROWTH_INTERVAL", NEVER_SECONDS),
    ):
        yield


async def _trace_call(application: Any, request: Request, profiler: Profiler) -> Trace:
    """One call after the warm-up. Raises RuntimeError if it fails."""
    for at_once in WARM_UP:
        await asyncio.gather(*(_call(application, request) for _ in range(at_once)))
    traces = [Trace() for _ in range(TRACED)]
    for trace in traces:
        await asyncio.sleep(SETTLING_SECONDS)  # what threads do after their answer
        profiler.trace = trace
        sys.setprofile(profiler)
        await _call(application, request)
        sys.setprofile(None)
        profiler.trace = None
    return min(traces, key=lambda trace: (trace.modules.total(), len(trace.functions)))


async def _call(application: Any, request: Request) -> None:
    headers = [(name.lower().encode(), value.encode()) for name, value in request.headers.items()]
    scope = {
        "type": "http",
        "method": "POST",
        "path": protocol.PATH,
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), *headers],
        "client": ("127.0.0.1", 50_000),
    }
    events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    events.put_nowait({"type": "http.request", "body": request.body, "more_body": False})
    sent: list[Mapping[str, Any]] = []

    async def send(event: Mapping[str, Any]) -> None:
        sent.append(event)

    await application(scope, events.get, send)
    body = b"".join(event.get("body", b"") for event in sent)
    if sent[0]["status"] != OK or protocol.result_text(body) is None:
        raise RuntimeError(f"the call failed: {sent[0]['status']} {body[:500]!r}")


def _report(title: str, trace: Trace, *, modules: bool) -> Iterator[str]:
    yield f"{title}, one warm call on SQLite"
    for name, figure in trace.figures().items():
        goal = f"  (goal: {GOALS[name]})" if name in GOALS else ""
        yield f"  {name:<16}{figure:>5}{goal}"
    yield "  " + ", ".join(f"{name} {count}" for name, count in trace.objects.most_common())
    if modules:
        yield from (f"    {module} {count}" for module, count in trace.modules.items())


if __name__ == "__main__":
    harness.run(main)
