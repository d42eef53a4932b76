"""The frame of every benchmark: its options, Django on a database of its own, its exit code.

An exit code is 0 when the goals are met, 1 when one is missed or the run is void, 2 when a part is
missing, and 3 when the figures are too noisy.
"""

import argparse
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from bench import servers, stores
from bench.servers import PRODUCT, Server, Unready
from bench.stores import Missing, Store

GOOD, MISSED, INCOMPLETE, NOISY = 0, 1, 2, 3
TERMINATED: Final = 143
POSTGRESQL: Final = "postgres://postgres@127.0.0.1:5432/postgres"
REDIS: Final = "redis://127.0.0.1:6379/15"
# Tokens are for this address, whatever port a server listens on.
PUBLIC_URL: Final = "http://127.0.0.1:8000"
# An SQLite database with every table and no rows, to begin with: migrations take longer than a
# short run does. Not a setting of the product, whose names begin with HALO_.
TABLES: Final = "BENCH_TABLES"
DEPLOYMENT: Final = frozenset({"DATABASE_URL", "REDIS_URL", "HOST", "PORT"})
HELP: Final = {
    "seconds": "of each turn",
    "concurrency": "requests at a time",
    "processes": "web processes; on SQLite 1",
}


@dataclass(frozen=True)
class Bench:
    """A measurement in progress: its options, a folder for files, and its store."""

    options: argparse.Namespace
    folder: Path
    store: Store

    @contextmanager
    def serve(self, application: str = PRODUCT, processes: int = 1) -> Iterator[Server]:
        """The product on the database of this process. Raises Unready."""
        count = 1 if self.store.kind == "sqlite" else processes
        with servers.serve(application, count, self.folder) as server:
            yield server

    def cpu_seconds(self, server: Server) -> dict[str, float]:
        """CPU time so far of a server on this store, and of the store."""
        return {"server": server.cpu_seconds(), **self.store.cpu_seconds()}


def options_parser(name: str, description: str | None, **numbers: float) -> argparse.ArgumentParser:
    """The options of a benchmark: numbers greater than 0 with their defaults, and its store."""
    parser = argparse.ArgumentParser(prog=f"./run bench {name}".strip(), description=description)
    for option, default in numbers.items():
        kind = _positive(type(default))
        parser.add_argument(f"--{option}", type=kind, default=default, help=HELP.get(option))
    add, environment = parser.add_argument, os.environ.get
    add("--store", "--stores", choices=("postgresql", "sqlite"), default="postgresql")
    server = environment("DATABASE_URL") or POSTGRESQL
    add("--server", default=server, metavar="URL", help="of PostgreSQL, or “scratch”")
    add("--redis", default=environment("REDIS_URL") or REDIS, metavar="URL", help="if it answers")
    add("--database", default="", metavar="NAME", help="keep it, or use it again")
    return parser


def _positive(kind: type) -> Callable[[str], Any]:
    def number(text: str) -> Any:
        value = kind(text)
        if value <= 0:
            raise argparse.ArgumentTypeError(f"{text} is not greater than 0")
        return value

    return number


@contextmanager
def prepare(
    options: argparse.Namespace,
    limits: Sequence[str] = (),
    settings: Mapping[str, str] = MappingProxyType({}),
    kept: tuple[str, ...] = (),
) -> Iterator[Bench]:
    """Django in this process, on a store until the block ends. Only once in a process.

    The named rate limits are raised out of the way. Settings of the environment are replaced, but
    for those whose names begin with one of `kept`; servers inherit them. Raises Missing.
    """
    with stores.scratch_folder() as folder, stores.open_store(options, folder) as store:
        for name in [name for name in os.environ if not name.startswith(kept)]:
            if name.startswith("HALO_") or name in DEPLOYMENT:
                del os.environ[name]
        os.environ |= {
            **{f"HALO_RATE_{name}": "1000000/s" for name in (*limits, "IP")},
            **({"REDIS_URL": store.redis} if store.redis else {}),
            "HALO_DATA_DIR": str(folder),
            "HALO_LOG_LEVEL": "ERROR",
            "HALO_PUBLIC_URL": PUBLIC_URL,
            "DATABASE_URL": store.url,
            "DJANGO_SETTINGS_MODULE": "halo_mcp.settings",
            **settings,
        }
        try:
            _start_django()
            yield Bench(options, folder, store)
        finally:
            from django.db import connections  # noqa: PLC0415  settings first

            connections.close_all()


def _start_django() -> None:
    """Set Django up, and make the tables where they are missing."""
    import django  # noqa: PLC0415  the environment first

    django.setup()
    from django.core.management import call_command  # noqa: PLC0415  settings first
    from django.db import connection  # noqa: PLC0415  the same

    file, tables = Path(str(connection.settings_dict["NAME"])), os.environ.get(TABLES)
    if tables and connection.vendor == "sqlite" and not file.exists():
        shutil.copyfile(tables, file)
    call_command("migrate", verbosity=0)


def run(main: Callable[[], int]) -> None:
    """Run a benchmark as this process, and exit with its code."""
    # As an exception, so that what was started is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        code = main()
    except (Missing, Unready) as problem:
        say(str(problem))
        code = INCOMPLETE
    sys.exit(code)


def say(line: str) -> None:
    """Report progress."""
    sys.stderr.write(f"bench: {line}\n")
    sys.stderr.flush()
