"""Rate limits over a sliding window, counted atomically across processes.

`charge([Bucket(key, Limit.parse("120/m")), ...])` answers with the Verdict that refuses, or None.
See window.py for the formula and its error. `charge_or_share` does not fail when the counters
cannot be reached.
"""

from foundation.limits.charging import build_store, charge, give_back, reset_store, still_refused
from foundation.limits.in_postgresql import prune_counters
from foundation.limits.limit import Bucket, Limit, LimitStoreDown, Verdict
from foundation.limits.shares import (
    charge_or_share,
    refusals_are_known,
    reset_shares,
    still_refused_a_part,
)
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
    "charge_or_share",
    "give_back",
    "prune_counters",
    "refusals_are_known",
    "reset_shares",
    "reset_store",
    "still_refused",
    "still_refused_a_part",
]
