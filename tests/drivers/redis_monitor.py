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

    What a script does inside Redis is no round trip, and not among them.
    """
    url = os.environ["REDIS_URL"]
    heard: list[list[str]] = []
    end = ids.opaque("end-")
    with closing(redis.Redis.from_url(url)) as told, closing(redis.Redis.from_url(url)) as speaker:
        speaker.ping()  # greeted now, so that a greeting in between is one of the store's own
        with told.monitor() as monitor:
            yield heard
            speaker.echo(end)
            own = {one.port for one in sockets.held_by(os.getpid())}
            for entry in monitor.listen():
                words = entry["command"].split()
                if words == ["ECHO", end]:
                    break
                if _is_ours(entry, url, own):
                    heard.append(words)


def _is_ours(entry: dict[str, str], url: str, own: set[int]) -> bool:
    if int(entry["db"]) != int(urlsplit(url).path.strip("/") or 0):
        return False
    # A server that another test has started shares the database, and its worker asks all the time.
    return entry["client_type"] == "unix" or (
        entry["client_type"] == "tcp" and int(entry["client_port"]) in own
    )
