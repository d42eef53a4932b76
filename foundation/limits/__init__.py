"""Rate limits over a sliding window, counted atomically across processes.

`charge([Bucket(key, Limit.parse("120/m")), ...])` returns the Verdict that refuses, or None. See
window.py for the formula and its error. `charge_or_share` also works while the store of the
counters is down.
"""

from foundation.limits.charging import (
    ADDRESS,
    address_bucket,
    build_store,
    charge,
    charge_or_share,
    give_back,
    reading,
    readings,
    refusals_are_known,
    reset_shares,
    reset_store,
    still_refused,
    still_refused_a_part,
)
from foundation.limits.in_postgresql import prune_counters
from foundation.limits.window import Bucket, Limit, LimitStoreDown, Reading, Store, Verdict
from foundation.outage import Outage

__all__ = [
    "ADDRESS",
    "Bucket",
    "Limit",
    "LimitStoreDown",
    "Outage",
    "Reading",
    "Store",
    "Verdict",
    "address_bucket",
    "build_store",
    "charge",
    "charge_or_share",
    "give_back",
    "prune_counters",
    "reading",
    "readings",
    "refusals_are_known",
    "reset_shares",
    "reset_store",
    "still_refused",
    "still_refused_a_part",
]
