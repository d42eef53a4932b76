import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import redis
from django.db import connection

from foundation.limits import Bucket, Limit, Store
from foundation.limits.in_memory import MemoryStore
from foundation.limits.in_postgresql import PostgresqlStore
from foundation.limits.in_redis import KEY_PREFIX, RedisStore
from foundation.outbound import Policy


class Clock:
    """Seconds that pass when asked to; starts at a whole minute of Unix time."""

    def __init__(self) -> None:
        self.seconds = 1_767_268_800.0

    def __call__(self) -> float:
        return self.seconds

    def pass_by(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@dataclass
class Counters:
    """A store, and a way to let a bucket's window have begun `seconds` earlier."""

    store: Store
    age: Callable[[Bucket, int], None]


@pytest.fixture
def memory_counters(clock: Clock) -> Counters:
    def age(_: Bucket, seconds: int) -> None:
        clock.pass_by(seconds)

    return Counters(MemoryStore(clock), age)


@pytest.fixture
def redis_counters() -> Iterator[Counters]:
    url = os.environ.get("REDIS_URL", "")
    if not url:
        pytest.skip("REDIS_URL names no Redis to count in")
    store, client = RedisStore(url), redis.Redis.from_url(url)

    def age(bucket: Bucket, seconds: int) -> None:
        for field in ("started", "last"):
            client.hincrby(KEY_PREFIX + bucket.digest, field, -1000 * seconds)

    yield Counters(store, age)
    store.close()


@pytest.fixture
def postgresql_counters() -> Counters:
    """The tests that ask for it carry the marks of ON_POSTGRESQL."""
    return Counters(PostgresqlStore(), age_row)


def age_row(bucket: Bucket, seconds: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE foundation_rate_counter SET started_ms = started_ms - %s,"
            " expires_ms = expires_ms - %s WHERE key = %s",
            [1000 * seconds, 1000 * seconds, bucket.digest],
        )


ON_POSTGRESQL = (
    pytest.mark.skipif(
        connection.vendor != "postgresql", reason="the database of this run is not PostgreSQL"
    ),
    pytest.mark.django_db(transaction=True),
)


@pytest.fixture(
    params=[
        "memory_counters",
        "redis_counters",
        pytest.param("postgresql_counters", marks=ON_POSTGRESQL),
    ]
)
def counters(request: pytest.FixtureRequest) -> Counters:
    """Every store in turn, so that one set of sentences holds for all."""
    made: Counters = request.getfixturevalue(request.param)
    return made


@pytest.fixture
def bucket() -> Callable[..., Bucket]:
    """Make buckets that no other test counts in; equal names give equal keys."""
    run = uuid.uuid4().hex

    def make(name: str = "k", limit: str = "10/h", **fields: Any) -> Bucket:
        return Bucket(f"{run}:{name}", Limit.parse(limit), **fields)

    return make


class LoopbackSite:
    """A web server on the loopback that answers each path as configured, and notes what it saw."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []
        self.answers: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}
        self.server = LoopbackServer(("127.0.0.1", 0), self._handler())
        self.port = int(self.server.server_address[1])

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def policy(self, **changes: Any) -> Policy:
        local = Policy(
            https_only=False,
            allowed_private_hosts=frozenset({"127.0.0.1"}),
            allowed_ports=frozenset({self.port}),
        )
        return replace(local, **changes)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        site = self

        class LoopbackHandler(BaseHTTPRequestHandler):
            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65_537)
                if not self.parse_request():
                    return
                headers = {name.lower(): value for name, value in self.headers.items()}
                body = self.rfile.read(int(headers.get("content-length", 0)))
                site.seen.append((self.command, self.path, headers, body))
                site.answers[self.path](self)
                self.close_connection = True

        return LoopbackHandler


class LoopbackServer(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up on a dripping answer is what the tests are about."""


@pytest.fixture
def site() -> Iterator[LoopbackSite]:
    made = LoopbackSite()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Host names and the addresses they resolve to; addresses resolve as they always do."""
    known: dict[str, list[str]] = {}
    usual = socket.getaddrinfo

    def resolve(host: str, port: int, *rest: Any, **more: Any) -> list[Any]:
        if host not in known:
            return list(usual(host, port, *rest, **more))
        if not known[host]:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(0, 0, 0, "", (address, port)) for address in known[host]]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return known


@pytest.fixture
def no_connections(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From the call on, opening a connection fails the test."""

    def forbid() -> None:
        def connect(*_: Any, **__: Any) -> None:
            pytest.fail("a connection was opened")

        monkeypatch.setattr(socket, "create_connection", connect)

    return forbid
