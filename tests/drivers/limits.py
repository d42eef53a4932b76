"""Reads the counters of a store of rate limits."""

from collections.abc import Sequence
from dataclasses import replace

from foundation.limits import Bucket, Store


def read_counts(store: Store, *buckets: Bucket) -> Sequence[int]:
    """How much each bucket was charged in its window; nothing is charged."""
    # A cost over the limit is always refused, and a refusal has the windows of all buckets.
    reading = store.take([replace(one, cost=one.limit.count + 1) for one in buckets])
    assert reading is not None
    return [window.current for window in reading.windows]
