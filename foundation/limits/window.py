"""Limits, and the arithmetic of the sliding window, which is the same in every store.

A bucket has one fixed window of S milliseconds, the count P of the window before it, its own count
C and the time L of the last charge. E milliseconds into the window, the calls of the last S
milliseconds are estimated as

    C + P x (S - E) / S

or as 0 if the last charge was S or more milliseconds ago: then nothing is in the sliding window,
and the next call starts a new fixed window. A call of cost k passes if the estimate plus k is at
most the limit N. Everything is multiplied by S, so that Python, Lua and SQL compare the same
integers.

A refused call therefore never has to wait longer than S, and after that wait it passes if nothing
else was charged.

The error: the calls of the window before are assumed to be spread evenly. If they all came at its
end, up to N x E / S calls too many pass in the S milliseconds before now, fewer than N in any case;
if they came at its start, as many too few. In the first window of a bucket P is 0: exactly N calls
pass.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
UNIT_NAMES = {seconds: unit for unit, seconds in UNITS.items()}
LIMIT = re.compile(r"([1-9][0-9]{0,6})/([smhd])", re.ASCII)

# Keeps count x milliseconds below 2^53, so that Lua's doubles count exactly as integers do.
MAX_COUNT = 1_000_000
# More than any limit has room for: a charge of it reads a bucket and counts nothing.
MAX_COST = MAX_COUNT + 1
MAX_SECONDS = 31 * UNITS["d"]


class LimitStoreDown(Exception):
    """The store of the counters did not answer, so the state of the limit is unknown."""


@dataclass(frozen=True)
class Limit:
    """At most `count` calls in any window of `seconds`. Raises ValueError out of bounds."""

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
        """Parses "120/m": a count, a slash and one of s, m, h, d. Raises ValueError otherwise."""
        match = LIMIT.fullmatch(text)
        if match is None:
            raise ValueError(f'A limit is written like "120/m" (units s, m, h, d), not {text!r}.')
        return cls(int(match[1]), UNITS[match[2]])

    def __str__(self) -> str:
        return self.text

    @cached_property
    def text(self) -> str:
        return f"{self.count}/{UNIT_NAMES.get(self.seconds, f'{self.seconds}s')}"

    @cached_property
    def milliseconds(self) -> int:
        return self.seconds * 1000


@dataclass(frozen=True, slots=True)
class Bucket:
    """A key that calls are counted under, its limit, and the cost of this call.

    `key` may be any text. Equal keys under different limits are different buckets. A cost above the
    limit is always refused; one below 1 or above MAX_COST raises ValueError. With
    `is_given_back`, part of a charge is usually given back, by any process: its refusal may end
    before its wait, and is not remembered.
    """

    key: str
    limit: Limit
    cost: int = 1
    is_given_back: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.cost <= MAX_COST:
            raise ValueError(f"A call costs 1 to {MAX_COST}, not {self.cost}.")

    @property
    def digest(self) -> str:
        """The name of the bucket in a store: 32 hexadecimal digits.

        The key is hashed so that Redis and the table hold no address or e-mail address, and so that
        keys may have any length and characters.
        """
        identity = f"{self.limit.text}|{self.key}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(identity, digest_size=16).hexdigest()


@dataclass(frozen=True)
class Verdict:
    """The refusal of a charge; `bucket` is the one with the longest wait.

    `reset_at` is in Unix seconds: the time when a full bucket next has room, else the end of its
    window. `retry_after` is in whole seconds, at least 1.
    """

    limit: int
    remaining: int
    reset_at: int
    retry_after: int
    bucket: Bucket

    def headers(self) -> dict[str, str]:
        """Returns the X-RateLimit-* headers, and Retry-After (RFC 9110 §10.2.3)."""
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.remaining),
            "X-RateLimit-Reset": str(self.reset_at),
            "Retry-After": str(self.retry_after),
        }


@dataclass(frozen=True, slots=True)
class Window:
    """The counts of a bucket since `started`; `last` is the time of the last charge.

    Both are in Unix milliseconds by the clock of the store.
    """

    started: int
    previous: int
    current: int
    last: int

    def roll_to(self, now: int, span: int) -> "Window":
        """Returns the window that contains `now`, for windows `span` milliseconds long."""
        if now - self.last >= span:
            return Window(started=now, previous=0, current=0, last=now)
        if now - self.started >= span:
            # The last charge was less than `span` ago, in the previous window.
            return Window(self.started + span, self.current, 0, self.last)
        return self

    def add_charge(self, cost: int, now: int) -> "Window":
        return Window(self.started, self.previous, self.current + cost, now)

    def remove_charge(self, cost: int) -> "Window":
        return Window(self.started, self.previous, max(0, self.current - cost), self.last)


UNTOUCHED = Window(started=0, previous=0, current=0, last=0)


@dataclass(frozen=True, slots=True)
class WindowState:
    """The window of a bucket at the time `now` (Unix milliseconds). All waits are milliseconds."""

    bucket: Bucket
    window: Window
    now: int

    @property
    def elapsed_milliseconds(self) -> int:
        # With a clock set back, the previous window must not weigh more than its count.
        return max(0, self.now - self.window.started)

    @property
    def remaining(self) -> int:
        span, window = self.bucket.limit.milliseconds, self.window
        room = (self.bucket.limit.count - window.current) * span
        return max(0, (room - window.previous * (span - self.elapsed_milliseconds)) // span)

    @property
    def wait(self) -> int:
        """The time until the cost fits if nothing else is charged: 0 if it fits, at most a span."""
        return wait(self.bucket, self.window, self.now)

    @property
    def frees_at(self) -> int:
        """When a full bucket next has room, else when its window ends, in Unix milliseconds."""
        return self.now + (self.wait or self.bucket.limit.milliseconds - self.elapsed_milliseconds)


def wait(bucket: Bucket, window: Window, now: int) -> int:
    """Returns the milliseconds until the bucket's cost fits; see `WindowState.wait`."""
    span = bucket.limit.milliseconds
    room = bucket.limit.count - bucket.cost
    if room < 0:
        return span
    # With a clock set back, the previous window must not weigh more than its count.
    elapsed = max(0, now - window.started)
    if window.current <= room:
        faded = max(0, _fade(window.previous, room - window.current, span, elapsed))
    else:
        # This window stays too full; its count decreases during the next one.
        faded = span - elapsed + _fade(window.current, room, span, 0)
    # A whole span after the last charge, no count applies any more.
    return min(faded, span - max(0, now - window.last))


def _fade(count: int, room: int, span: int, elapsed: int) -> int:
    """Returns the time until `count`, weighted by the rest of the window, is within `room`."""
    if count <= room:
        return 0
    return span - room * span // count - elapsed


@dataclass(frozen=True, slots=True)
class Reading:
    """What a store read that refuses a charge: a window per bucket, at Unix milliseconds `now`."""

    now: int
    windows: tuple[Window, ...]

    def states(self, buckets: Sequence[Bucket]) -> list[WindowState]:
        pairs = zip(buckets, self.windows, strict=True)
        return [WindowState(bucket, window, self.now) for bucket, window in pairs]


class Store(Protocol):
    """A store of counters. Charges all buckets of a call or none; each is named once."""

    def take(self, buckets: Sequence[Bucket]) -> Reading | None:
        """Charges every bucket its cost if all have room, else returns what it has read.

        Raises LimitStoreDown.
        """
        ...

    def give_back(self, buckets: Sequence[Bucket]) -> None:
        """Subtracts the cost from each bucket, to zero at the lowest. Raises LimitStoreDown."""
        ...

    def close(self) -> None:
        """Closes the connections; the store is not used afterwards."""
        ...


def refusal(state: WindowState) -> Verdict:
    """Returns the verdict of a bucket without room; `retry_after` is at most the limit's window."""
    return Verdict(
        limit=state.bucket.limit.count,
        remaining=state.remaining,
        reset_at=_seconds(state.frees_at),
        retry_after=_seconds(state.wait),
        bucket=state.bucket,
    )


def _seconds(milliseconds: int) -> int:
    return -(-milliseconds // 1000)
