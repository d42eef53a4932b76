"""Rate limits over a sliding window, counted atomically across processes.

`charge([Bucket(key, Limit.parse("120/m")), ...])` answers with a Verdict. See window.py for the
formula and its error.
"""

from foundation.limits.charging import build_store, charge, give_back, reset_store, still_refused
from foundation.limits.in_postgresql import prune_counters
from foundation.limits.limit import Bucket, Limit, LimitStoreDown, Verdict
from foundation.limits.window import Reading, Store

__all__ = [
    "Bucket",
    "Limit",
    "LimitStoreDown",
    "Reading",
    "Store",
    "Verdict",
    "build_store",
    "charge",
    "give_back",
    "prune_counters",
    "reset_store",
    "still_refused",
]
