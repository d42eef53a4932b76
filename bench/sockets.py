"""`./run bench sockets`: a thousand idle WebSockets in one process, then a token that is revoked.

Exits with 1 if a socket costs 20 KB or more, or a thread, or outlives its token by over a second.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TextIO, cast

from bench import scratch, streams
from bench.scratch import Server
from bench.socket_clients import PROJECT

MAX_BYTES: Final = 20_000
MAX_SECONDS: Final = 1.0
UNAUTHENTICATED: Final = 4401  # the close code
WARM: Final = 64


@contextmanager
def _clients() -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.socket_clients"],
        cwd=scratch.ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)


def _order(clients: "subprocess.Popen[str]", **given: object) -> Any:
    orders, answers = cast("TextIO", clients.stdin), cast("TextIO", clients.stdout)
    orders.write(json.dumps(given) + "\n")
    orders.flush()
    return json.loads(answers.readline())


def main() -> int:
    parser = argparse.ArgumentParser(prog="./run bench sockets", description=__doc__)
    parser.add_argument("--sockets", type=int, default=1000)
    parser.add_argument("--silence", type=float, default=20, help="seconds before measuring")
    parser.add_argument("--database", default=os.environ.get("DATABASE_URL") or streams.POSTGRESQL)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, scratch.database(options.database) as database:
        streams.prepare(Path(folder), database)
        tokens = streams.tokens(options.sockets + WARM)
        log = Path(folder, "server.log")
        with scratch.serving(1, log, "bench.socket_application:application") as server:
            return _measure(server, tokens, options)


def _measure(server: Server, tokens: Sequence[str], options: argparse.Namespace) -> int:
    url = f"ws{server.url.removeprefix('http')}/?projectId={PROJECT}"
    with _clients() as warming:
        _order(warming, act="open", url=url, tokens=tokens[:WARM])
    time.sleep(2)
    memory, threads = server.status("VmRSS"), server.status("Threads")
    with _clients() as clients:
        opened = _order(clients, act="open", url=url, tokens=tokens[WARM:])
        busy = server.cpu_seconds()
        time.sleep(options.silence)
        cpu = (server.cpu_seconds() - busy) / options.silence
        grown = server.status("VmRSS") - memory
        more = server.status("Threads") - threads
        revoked_at = _revoke_one()
        closed_at, code = _order(clients, act="closed")
    each, seconds = grown * 1024 / opened, closed_at - revoked_at
    lines = [
        f"{opened} WebSockets are open to one process",
        f"memory: {each / 1000:.1f} KB a socket ({memory} KiB before)",
        f"threads: {threads} before, {threads + more} with them",
        f"CPU of the process while they are idle: {100 * cpu:.1f} %",
        f"closed with {code} {seconds:.2f} s after its token was revoked",
        "",
    ]
    sys.stdout.write("\n".join(lines))
    return int(
        each >= MAX_BYTES or more >= opened / 10 or seconds > MAX_SECONDS or code != UNAUTHENTICATED
    )


def _revoke_one() -> float:
    from oauth.grants import authorizations  # noqa: PLC0415  settings first
    from oauth.models import Authorization  # noqa: PLC0415

    newest = Authorization.objects.latest("pk")
    authorizations.revoke(newest.pk, reason="bench")
    return time.monotonic()


if __name__ == "__main__":
    sys.exit(main())
