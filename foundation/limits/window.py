"""The arithmetic of the sliding window, the same in every store.

A bucket keeps one fixed window of S milliseconds, begun by the first call after a rest, its
predecessor's count P and its own count C. E milliseconds into it, the calls of the last S
milliseconds are estimated as

    C + P x (S - E) / S

and a call of cost k passes if the estimate plus k is at most the limit N. Everything is
multiplied by S, so that Python, Lua and SQL compare the same integers.

The error: the predecessor's calls are taken as spread evenly. If they all came at its end, up to
N x E / S calls too many pass in the S milliseconds before now, fewer than N in any case; if they
came at its start, as many too few. In the first window of a bucket P is 0: exactly N calls pass.
"""

from collections.abc import Sequence
from typing import Protocol

from foundation.carrier import carrier
from foundation.limits.limit import Bucket, Verdict


@carrier
class Window:
    """Counts of a bucket; `started` is in Unix milliseconds by the store's clock."""

    started: int
    previous: int
    current: int

    def rolled(self, now: int, span: int) -> "Window":
        """Return the window that `now` falls into, for windows `span` milliseconds long."""
        age = now - self.started
        if age >= 2 * span:
            return Window(started=now, previous=0, current=0)
        if age >= span:
            return Window(started=self.started + span, previous=self.current, current=0)
        return self

    def charged(self, cost: int) -> "Window":
        return Window(self.started, self.previous, self.current + cost)

    def relieved(self, cost: int) -> "Window":
        return Window(self.started, self.previous, max(0, self.current - cost))


UNTOUCHED = Window(started=0, previous=0, current=0)


@carrier
class Standing:
    """A bucket's window at one moment, `now` in Unix milliseconds; all waits in milliseconds."""

    bucket: Bucket
    window: Window
    now: int

    @property
    def elapsed(self) -> int:
        # A clock set back must not make the predecessor weigh more than it counted.
        return max(0, self.now - self.window.started)

    @property
    def remaining(self) -> int:
        span, window = self.bucket.limit.milliseconds, self.window
        room = (self.bucket.limit.count - window.current) * span
        return max(0, (room - window.previous * (span - self.elapsed)) // span)

    @property
    def wait(self) -> int:
        """How long until the bucket's cost fits, if nobody else charges it; 0 if it fits now."""
        span = self.bucket.limit.milliseconds
        room = self.bucket.limit.count - self.bucket.cost
        if room < 0:
            return span
        if self.window.current <= room:
            return max(
                0, _fade(self.window.previous, room - self.window.current, span, self.elapsed)
            )
        # This window is too full for good; in the next one its count fades in turn.
        return span - self.elapsed + _fade(self.window.current, room, span, 0)

    @property
    def frees_at(self) -> int:
        """When a spent bucket next has room, else when its window ends; Unix milliseconds."""
        return self.now + (self.wait or self.bucket.limit.milliseconds - self.elapsed)


def _fade(count: int, room: int, span: int, elapsed: int) -> int:
    """How long until `count`, weighted by the share of the window still ahead, is within `room`."""
    if count <= room:
        return 0
    return span - room * span // count - elapsed


@carrier
class Reading:
    """What a store answers: the decision, its clock in Unix milliseconds, a window per bucket.

    The windows are those after the charge if it was allowed, and untouched by it if not.
    """

    allowed: bool
    now: int
    windows: tuple[Window, ...]

    def standings(self, buckets: Sequence[Bucket]) -> list[Standing]:
        pairs = zip(buckets, self.windows, strict=True)
        return [Standing(bucket, window, self.now) for bucket, window in pairs]


class Store(Protocol):
    """Where counters live. Buckets of one call are charged all or none, each named once."""

    def take(self, buckets: Sequence[Bucket]) -> Reading:
        """Charge every bucket its cost if all have room; raises LimitStoreDown."""
        ...

    def give_back(self, buckets: Sequence[Bucket]) -> None:
        """Take the cost out of each bucket again, never below nothing; raises LimitStoreDown."""
        ...

    def close(self) -> None:
        """Let go of connections; the store is not used afterwards."""
        ...


def refusal(standing: Standing) -> Verdict:
    """Tell of a bucket that refused; waiting `retry_after` seconds is enough if nobody calls."""
    return Verdict(
        limit=standing.bucket.limit.count,
        remaining=standing.remaining,
        reset_at=_seconds(standing.frees_at),
        retry_after=_seconds(standing.wait),
        bucket=standing.bucket,
    )


def _seconds(milliseconds: int) -> int:
    return -(-milliseconds // 1000)
