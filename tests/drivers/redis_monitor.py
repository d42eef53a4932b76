"""What reaches the Redis of the tests, command by command, as Redis itself tells it."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

import redis

from foundation import ids
from tests.drivers import sockets


@contextmanager
def commands() -> Iterator[list[list[str]]]:
    """The commands that others send to this test's database while the block runs, once it is over.

    What a script does inside Redis is no round trip, and not among them. Nor is the choice of the
    database with which a connection begins: each thread of the application opens its own.
    """
    url = os.environ["REDIS_URL"]
    received: list[list[str]] = []
    end = ids.opaque("end-")
    with (
        closing(redis.Redis.from_url(url)) as message,
        closing(redis.Redis.from_url(url)) as speaker,
    ):
        speaker.ping()  # greeted now, so that a greeting in between is one of the store's own
        with message.monitor() as monitor:
            yield received
            speaker.echo(end)
            own = {one.port for one in sockets.sockets_of(os.getpid())}
            known: set[str] = set()
            for entry in monitor.listen():
                words = entry["command"].split()
                if words == ["ECHO", end]:
                    break
                if not _is_ours(entry, url, own):
                    continue
                port = entry["client_port"]
                if port in known or words[0].upper() != "SELECT":
                    received.append(words)
                known.add(port)


def _is_ours(entry: dict[str, str], url: str, own: set[int]) -> bool:
    if int(entry["db"]) != int(urlsplit(url).path.strip("/") or 0):
        return False
    # A server that another test has started shares the database, and its worker asks all the time.
    return entry["client_type"] == "unix" or (
        entry["client_type"] == "tcp" and int(entry["client_port"]) in own
    )
