"""What reaches the Redis of the tests, command by command, as Redis itself tells it."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

import redis

from foundation import ids


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
            for entry in monitor.listen():
                words = entry["command"].split()
                if words == ["ECHO", end]:
                    break
                if _is_ours(entry, url):
                    heard.append(words)


def _is_ours(entry: dict[str, str], url: str) -> bool:
    own = int(urlsplit(url).path.strip("/") or 0)
    return int(entry["db"]) == own and entry["client_type"] != "lua"
