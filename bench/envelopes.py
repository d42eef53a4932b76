"""`./run bench envelopes`: the cost of invalid bodies, by kind and size, in this process.

The fastest of several rounds counts; the rest is other load. Exits with 1 if it took 10 ms or
longer to answer a body, or each message of a batch.
"""

import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from bench import harness
from bench.servers import ROOT

SIZES: Final = {"1 KB": 1_024, "64 KB": 65_536, "1 MiB": 2**20}
GOAL_MS: Final = 10.0
LIMITS: Final = ("TOOLS_LIST", "OTHER")
SCOPE: Final = "docs:read setup:read data:read"
HEAD: Final = (
    "milliseconds to read it / to answer it and write its audit row",
    "of a batch that is taken apart: to answer each message",
)


def main() -> int:
    parser = harness.options_parser("envelopes", __doc__, rounds=15)
    parser.set_defaults(store="sqlite")
    options = parser.parse_args()
    with harness.prepare(options, LIMITS):
        from bench import equal_work, tenant  # noqa: PLC0415  settings first
        from tools_registry.endpoint import respond  # noqa: PLC0415  the same

        (pair,) = tenant.create_grants(tenant.create_organization(), SCOPE)
        names = {"content-type": "application/json", "authorization": f"Bearer {pair.access}"}

        def answer(body: bytes) -> object:
            return respond.respond(equal_work.make_request(body, names))

        def measure(body: bytes) -> tuple[float, float]:
            messages = len(getattr(_read(body), "members", " "))
            return _fastest(_read, body, options.rounds), (
                _fastest(answer, body, options.rounds) / messages
            )

        answer(b"{}")  # what is imported and connected once
        rows = {
            kind: [measure(_make_body(parts, size)) for size in SIZES.values()]
            for kind, *parts in json.loads((ROOT / "bench" / "invalid-bodies.json").read_text())
        }
    lines = [*HEAD, f"| kind | {' | '.join(SIZES)} |", "|---" * (len(SIZES) + 1) + "|"]
    for kind, cells in rows.items():
        lines.append(f"| {kind} | {' | '.join(f'{r:.2f} / {whole:.2f}' for r, whole in cells)} |")
    sys.stdout.write("\n".join([*lines, ""]))
    is_met = all(whole < GOAL_MS for cells in rows.values() for _, whole in cells)
    return harness.GOOD if is_met else harness.MISSED


def _make_body(parts: list[str], size: int) -> bytes:
    """A beginning, something that is repeated up to the size, and an end."""
    first, repeated, last = (part.encode("latin-1") for part in parts)
    return first + repeated * ((size - len(first) - len(last)) // len(repeated)) + last


def _read(body: bytes) -> object:
    from mcp_protocol import envelope, strict_json  # noqa: PLC0415  settings first
    from mcp_protocol.errors import ProtocolError  # noqa: PLC0415  the same

    with suppress(ProtocolError):
        return envelope.read(strict_json.parse(body), batch_limit=100)
    return None


def _fastest(act: Callable[[bytes], Any], body: bytes, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        clock = time.perf_counter()
        act(body)
        times.append(1_000 * (time.perf_counter() - clock))
    return min(times)


if __name__ == "__main__":
    harness.run(main)
