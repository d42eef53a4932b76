"""Identifiers: time-ordered row keys, random secrets and their hashes."""

import hashlib
import os
import secrets
import threading
import time
import uuid
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Final

TAIL_BITS = 74  # rand_a (12) and rand_b (62) taken as one number
TAIL_BYTES = 10
SPARE_BITS = 8 * TAIL_BYTES - TAIL_BITS + 1
STEP_BYTES = 4
NOT_SAID = uuid.SafeUUID.unknown
RAND_B_BITS = 62
RAND_B = (1 << RAND_B_BITS) - 1
VERSION_7 = 0x7
VARIANT_RFC = 0b10
# The fixed bits of every identifier: version and variant (RFC 9562 §5.7).
FIXED = VERSION_7 << 76 | VARIANT_RFC << RAND_B_BITS
# The number of keys whose text form is cached: most calls use the same few.
MAX_CACHED = 1024


class Sequence:
    """Strictly increasing UUIDv7 values of this process.

    `now` is milliseconds since the Unix epoch. Source: RFC 9562 §5.7 and §6.2, method 2: within one
    millisecond the random tail is incremented by a random step.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._moment = 0
        self._tail = 0

    def take(self) -> uuid.UUID:
        """Returns the next identifier of the sequence."""
        with self._lock:
            moment = self._now()
            if moment > self._moment:
                self._start(moment)
            else:
                self._step()
            rand_a, rand_b = self._tail >> RAND_B_BITS, self._tail & RAND_B
            return _make_uuid(self._moment << 80 | FIXED | rand_a << 64 | rand_b)

    def _step(self) -> None:
        # The same millisecond, or a clock set back: the last timestamp is used again (RFC 9562
        # §6.2).
        self._tail += 1 + int.from_bytes(os.urandom(STEP_BYTES))
        if self._tail >> TAIL_BITS:
            self._start(self._moment + 1)

    def _start(self, moment: int) -> None:
        # The top bit starts at zero, so that increments do not overflow (RFC 9562 §6.2, rollover
        # guard).
        self._moment = moment
        self._tail = int.from_bytes(os.urandom(TAIL_BYTES)) >> SPARE_BITS


def _make_uuid(number: int) -> uuid.UUID:
    # Created as by copying and unpickling: UUID() spends most of its time on the check of its
    # arguments.
    made = object.__new__(uuid.UUID)
    object.__setattr__(made, "int", number)
    object.__setattr__(made, "is_safe", NOT_SAID)
    return made


@lru_cache(maxsize=MAX_CACHED)
def parse_stored_key(written: str) -> uuid.UUID:
    """Returns the UUID of a key that a database returned as 32 digits, with or without hyphens."""
    return _make_uuid(int(written.replace("-", ""), 16))


def from_row(value: object) -> uuid.UUID:
    """Returns a primary key of raw SQL: a UUID from PostgreSQL, 32 hex digits from SQLite."""
    return value if isinstance(value, uuid.UUID) else parse_stored_key(str(value))


@lru_cache(maxsize=MAX_CACHED)
def text(key: uuid.UUID | str) -> str:
    """Returns the text form of a UUID, 32 hexadecimal digits with hyphens; text is not changed."""
    return str(key)


def _unix_milliseconds() -> int:
    return time.time_ns() // 1_000_000


_sequence: Final = Sequence(_unix_milliseconds)


# A function and no bound method: migrations name it as the default of a key.
def uuid7() -> uuid.UUID:
    """A time-ordered identifier, greater than every earlier one of this process.

    48 bits of Unix milliseconds, then random bits (RFC 9562 §5.7).
    """
    return _sequence.take()


def uuid7_hex() -> str:
    """A time-ordered identifier in 32 hexadecimal digits."""
    return uuid7().hex


def first_key(moment: datetime) -> uuid.UUID:
    """Returns the smallest time-ordered key that a row of this time can have (RFC 9562 5.7)."""
    return uuid.UUID(int=max(int(moment.timestamp() * 1000), 0) << 80)


def opaque(prefix: str) -> str:
    """Returns `prefix` followed by 256 random bits, as 43 characters of base64url.

    Source: RFC 6749 §10.10 requires a guessing probability of at most 2^-128.
    """
    return prefix + secrets.token_urlsafe(32)


def reference(prefix: str) -> str:
    """Returns `prefix` followed by 128 random bits in 22 characters of base64url: an id of a row.

    It cannot be guessed, and is shorter than a secret, since models read it and send it back.
    """
    return prefix + secrets.token_urlsafe(16)


def sha256_hex(text: str) -> str:
    """Returns the SHA-256 of a text in 64 hexadecimal digits: of a random secret, what is stored.

    A plain hash is enough for 256 random bits; do not use it for passwords. Any text is accepted,
    lone surrogates included, since clients send it.
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
