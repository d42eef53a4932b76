"""The vocabulary of rate limits: a limit, a bucket it is counted in, and a refusal."""

import hashlib
import re
from dataclasses import dataclass

from foundation.carrier import carrier

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
UNIT_NAMES = {seconds: unit for unit, seconds in UNITS.items()}
LIMIT = re.compile(r"([1-9][0-9]{0,6})/([smhd])", re.ASCII)

# Keeps count x milliseconds below 2^53, so that Lua's doubles count exactly as integers do.
MAX_COUNT = 1_000_000
MAX_SECONDS = 31 * UNITS["d"]


class LimitStoreDown(Exception):
    """The store of the counters did not answer, so nothing is known about the limit."""


@dataclass(frozen=True)
class Limit:
    """At most `count` calls in any window of `seconds`; raises ValueError out of bounds."""

    count: int
    seconds: int

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MAX_COUNT or not 1 <= self.seconds <= MAX_SECONDS:
            raise ValueError(
                f"A limit is 1 to {MAX_COUNT} calls in 1 to {MAX_SECONDS} seconds, "
                f"not {self.count} in {self.seconds}."
            )

    @classmethod
    def parse(cls, text: str) -> "Limit":
        """Read "120/m": a count, a slash and one of s, m, h, d; raises ValueError otherwise."""
        match = LIMIT.fullmatch(text)
        if match is None:
            raise ValueError(f'A limit is written like "120/m" (units s, m, h, d), not {text!r}.')
        return cls(int(match[1]), UNITS[match[2]])

    def __str__(self) -> str:
        return f"{self.count}/{UNIT_NAMES.get(self.seconds, f'{self.seconds}s')}"

    @property
    def milliseconds(self) -> int:
        return self.seconds * 1000


@carrier
class Bucket:
    """What is counted together, under which limit, and what this call costs.

    `key` may be any text. Equal keys under different limits are different buckets. A cost above
    the limit can never pass; one below 1 or above MAX_COUNT raises ValueError.
    """

    key: str
    limit: Limit
    cost: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.cost <= MAX_COUNT:
            raise ValueError(f"A call costs 1 to {MAX_COUNT}, not {self.cost}.")

    @property
    def digest(self) -> str:
        """32 hexadecimal digits that name the bucket in a store, whatever its key holds.

        Hashed, so that no address and no e-mail stands in Redis or a table, and a key of any
        length or alphabet fits.
        """
        identity = f"{self.limit}|{self.key}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(identity, digest_size=16).hexdigest()


@dataclass(frozen=True)
class Verdict:
    """A charge is refused: `bucket` is the tightest one that refused, the rest is its state.

    `reset_at` is in Unix seconds: when a spent bucket next has room, else when its window ends.
    `retry_after` is in whole seconds, at least 1.
    """

    limit: int
    remaining: int
    reset_at: int
    retry_after: int
    bucket: Bucket

    def headers(self) -> dict[str, str]:
        """Return the X-RateLimit-* headers, and Retry-After (RFC 9110 §10.2.3)."""
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.remaining),
            "X-RateLimit-Reset": str(self.reset_at),
            "Retry-After": str(self.retry_after),
        }
