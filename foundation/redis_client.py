"""Redis clients whose waits have a limit."""

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry


def build_client(url: str, seconds: float) -> "redis.Redis":
    """Returns a client that connects within `seconds`, and waits as long for each answer.

    It does not repeat a command: the library would by default, three times, with pauses.
    """
    return redis.Redis.from_url(
        url,
        socket_timeout=seconds,
        socket_connect_timeout=seconds,
        retry=Retry(NoBackoff(), 0),
    )
