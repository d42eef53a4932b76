"""Identifiers: time-ordered row keys, opaque secrets and what is stored of them."""

import hashlib
import os
import secrets
import threading
import time
import uuid
from collections.abc import Callable
from functools import lru_cache

TAIL_BITS = 74  # rand_a (12) and rand_b (62) taken as one number
TAIL_BYTES = 10
SPARE_BITS = 8 * TAIL_BYTES - TAIL_BITS + 1
STEP_BYTES = 4
NOT_SAID = uuid.SafeUUID.unknown
RAND_B_BITS = 62
RAND_B = (1 << RAND_B_BITS) - 1
VERSION_7 = 0x7
VARIANT_RFC = 0b10
# What stands in every identifier, at its place (RFC 9562 §5.7).
FIXED = VERSION_7 << 76 | VARIANT_RFC << RAND_B_BITS
# Keys of which this process remembers how they are written: the same few come with every call.
MOST_REMEMBERED = 1024


class Sequence:
    """UUIDv7 values that only ever grow within this process.

    `now` is milliseconds since the Unix epoch. Source: RFC 9562 §5.7 and §6.2, method 2: within
    one millisecond the random tail is incremented by a random step instead of drawn anew.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._moment = 0
        self._tail = 0

    def take(self) -> uuid.UUID:
        """Return the next identifier of the sequence."""
        with self._lock:
            moment = self._now()
            if moment > self._moment:
                self._start(moment)
            else:
                self._step()
            rand_a, rand_b = self._tail >> RAND_B_BITS, self._tail & RAND_B
            return _numbered(self._moment << 80 | FIXED | rand_a << 64 | rand_b)

    def _step(self) -> None:
        # The same millisecond, or a clock set back: the last moment stays in use (RFC 9562 §6.2).
        self._tail += 1 + int.from_bytes(os.urandom(STEP_BYTES))
        if self._tail >> TAIL_BITS:
            self._start(self._moment + 1)

    def _start(self, moment: int) -> None:
        # The top bit starts at zero, which leaves room to count (RFC 9562 §6.2, rollover guard).
        self._moment = moment
        self._tail = int.from_bytes(os.urandom(TAIL_BYTES)) >> SPARE_BITS


def _numbered(number: int) -> uuid.UUID:
    # As copying and unpickling make one: UUID() spends most of its time on which of its seven
    # parameters is there.
    made = object.__new__(uuid.UUID)
    object.__setattr__(made, "int", number)
    object.__setattr__(made, "is_safe", NOT_SAID)
    return made


@lru_cache(maxsize=MOST_REMEMBERED)
def stored(written: str) -> uuid.UUID:
    """A key as a database wrote it, in 32 hexadecimal digits with or without hyphens."""
    return _numbered(int(written.replace("-", ""), 16))


@lru_cache(maxsize=MOST_REMEMBERED)
def text(key: uuid.UUID) -> str:
    """A key in 32 hexadecimal digits with hyphens."""
    return str(key)


def _unix_milliseconds() -> int:
    return time.time_ns() // 1_000_000


_sequence = Sequence(_unix_milliseconds)


def uuid7() -> uuid.UUID:
    """Return a time-ordered identifier, greater than every earlier one of this process.

    48 bits of Unix milliseconds, then random bits. Source: RFC 9562 §5.7.
    """
    return _sequence.take()


def opaque(prefix: str) -> str:
    """Return `prefix` followed by 256 random bits, as 43 characters of base64url.

    Source: RFC 6749 §10.10 asks for a guessing chance of at most 2^-128.
    """
    return prefix + secrets.token_urlsafe(32)


def sha256_hex(secret: str) -> str:
    """Return the 64 hexadecimal digits under which a random secret is stored.

    A plain hash is enough for 256 random bits; it is not for passwords. Any text is taken, lone
    surrogates included, since the secret comes from a stranger.
    """
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
