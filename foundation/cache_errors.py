"""The errors of Django's cache while it does not answer."""


def get_cache_errors() -> tuple[type[Exception], ...]:
    """Returns the errors of the cache, for `except` and `suppress`.

    A function, as `except` calls it after an error only: where the cache is not in Redis, redis-py
    is not imported at the start, which takes 40 ms.
    """
    from redis.exceptions import RedisError  # noqa: PLC0415  as said

    return (RedisError, OSError)  # redis-py's ConnectionError is not Python's
