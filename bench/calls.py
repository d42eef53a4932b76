"""`./run bench`: tools/call of shipped tools here and at the official SDK's server.

The servers take turns, round by round. Exits with 1 when any reply was wrong or the records do not
hold what was answered, with 2 when something that is needed is missing, with 3 when the machine was
too busy for the figures to say anything. `bench.hello` costs next to nothing: what is measured with
it is the work around a tool. On SQLite there is no server with equal work.
"""

import argparse
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from itertools import product
from typing import Any, Final

from bench import harness, peer_environment, protocol, work
from bench.comparison import Comparison, Contestant
from bench.harness import Bench
from bench.protocol import MODERN, REVISIONS
from bench.servers import PRODUCT
from bench.stores import SCRATCH
from bench.work import Work

LIMITS: Final = ("TOOLS_CALL", "OTHER")
SCOPE: Final = "setup:read docs:read data:read actions:*"
UNAUTHENTICATED: Final = 401
# The first answers from memory but for the organization's row, the second searches in the database.
SETUP_AND_DOCS: Final = {
    "setup_get_jwt_sample": {"language": "python"},
    "search_docs": {"query": "How do I revoke a token?"},
}
# Of the demo data.
DATA: Final = {
    "data_find_user": {"user": "maria@acme.example"},
    "data_search_tickets": {"status": "unresolved"},
}
ECHO: Final = "bench.hello"
CALLS: Final = {**SETUP_AND_DOCS, **DATA, ECHO: {"name": "Ada"}}
OURS, EQUAL, FASTMCP = "ours", "sdk-equal", "fastmcp-empty"
# The factories in bench/peers.
PEERS: Final = {
    EQUAL: "sdk_server:equal",
    "sdk-empty": "sdk_server:empty",
    FASTMCP: "fastmcp_server:empty",
}


def main() -> int:
    options = _options()
    with harness.prepare(options, LIMITS) as bench:
        comparison = Comparison(bench)
        for workers in [1] if options.store == "sqlite" else options.workers:
            with ExitStack() as stack:
                _measure(comparison, workers, stack)
        comparison.check_records()
        return comparison.report(options.json)


def _options() -> argparse.Namespace:
    parser = harness.options_parser("", __doc__, rounds=5, seconds=4)
    parser.set_defaults(server=SCRATCH)
    add, shipped = parser.add_argument, [name for name in CALLS if name != ECHO]
    add("--quick", action="store_true", help="what the goals are about, in under 8 minutes")
    add("--tools", type=_some_of(str, CALLS), default=shipped, help=f"of {','.join(CALLS)}")
    add("--servers", type=_some_of(str, (OURS, *PEERS)), default=[*PEERS], help=",".join(PEERS))
    add("--wires", type=_some_of(str, REVISIONS), default=REVISIONS, help="protocol revisions")
    add("--workers", type=_some_of(int), help="web processes of each server, such as 1,2")
    add("--concurrency", type=_some_of(int), help="connections, such as 1,16,64")
    add("--json", default="", metavar="FILE", help="for a program; - is standard output")
    options = parser.parse_args()
    options.workers = options.workers or ([2] if options.quick else [2, 1])
    options.concurrency = options.concurrency or ([16] if options.quick else [1, 16, 64])
    if options.store == "sqlite":
        options.servers = [name for name in options.servers if name != EQUAL]
    if options.tools != [ECHO]:
        # It makes the schema of a tool of a function; there is one for the made-up tool.
        options.servers = [name for name in options.servers if name != FASTMCP]
    return options


def _some_of(read: Callable[[str], Any], choices: Iterable[Any] = ()) -> Callable[[str], list[Any]]:
    def choice(text: str) -> list[Any]:
        values = [read(word) for word in text.split(",")]
        if any(value not in choices if choices else value < 1 for value in values):
            raise ValueError(text)
        return values

    return choice


def _measure(comparison: Comparison, workers: int, stack: ExitStack) -> None:
    """All combinations for one number of web processes, then what is refused after a change."""
    from bench import equal_work, tenant  # noqa: PLC0415  settings first

    bench, options = comparison.bench, comparison.bench.options
    if ECHO in options.tools:
        from bench import application as _with_echo  # noqa: F401, PLC0415  the same
    organization = tenant.prepare_calls()
    if not DATA.keys().isdisjoint(options.tools):
        tenant.seed_demo_data("small")
        tenant.keep_figures_of_customer()
    (pair,) = tenant.create_grants(organization, SCOPE)
    calls = {name: CALLS[name] for name in options.tools}
    recorded = equal_work.record_calls(calls, pair.access, bench.store)
    peers = [name for name in PEERS if name in options.servers]
    # The baseline is always there: without it there is nothing to compare.
    comparison.contestants = {
        name: _start(bench, name, workers, recorded, stack) for name in (OURS, *peers)
    }
    conditions = f"{options.store}, {workers} worker(s)"
    for tool, at_once, revision in product(options.tools, options.concurrency, options.wires):
        comparison.measure((tool, revision), conditions, at_once)
    writers = [each for each in comparison.contestants.values() if each.writes]
    way, is_echo = (options.tools[0], MODERN), options.tools == [ECHO]
    with tenant.action_switched_off() if is_echo else tenant.server_switched_off():
        for each in writers:
            layer = protocol.refusal_layer(each.call(way).content)
            line = f"{each.name}: refused by {layer or 'no layer'} after the toggle, at once"
            comparison.check(layer == ("agent" if is_echo else "flag"), line)
    tenant.revoke_newest()
    for each in writers:
        status = each.call(way).status_code
        line = f"{each.name}: {status} after the revocation, at once"
        comparison.check(status == UNAUTHENTICATED, line)


def _start(bench: Bench, name: str, workers: int, recorded: Work, stack: ExitStack) -> Contestant:
    """A server that has answered every call rightly. Raises Unready."""
    harness.say(f"starting {name}, {workers} worker(s)")
    if name == OURS:
        application = "bench.application:application" if ECHO in recorded.tools else PRODUCT
        server = stack.enter_context(bench.serve(application, workers))
    else:
        file = bench.folder / "work.pickle"
        recorded.write(file)
        serving = peer_environment.serve(PEERS[name], workers, bench.folder, {work.FILE: str(file)})
        server = stack.enter_context(serving)
    requests = {
        (tool, revision): protocol.call_tool(revision, tool, CALLS[tool], recorded.token)
        for tool, revision in product(recorded.tools, REVISIONS)
    }
    url, writes = server.url + protocol.PATH, name in {OURS, EQUAL}
    contestant = Contestant(name, url, server, requests, writes)
    for tool, revision in requests:
        contestant.prove((tool, revision), recorded.tools[tool].text)
    return contestant


if __name__ == "__main__":
    harness.run(main)
