import re
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from foundation import ids

NOON = 1_767_268_800_000


def test_an_identifier_is_a_version_7_uuid_of_this_very_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Tests that travel into the future leave the process's own sequence there.
    monkeypatch.setattr(ids, "_sequence", ids.Sequence(ids._unix_milliseconds))
    before = time.time_ns() // 1_000_000
    made = ids.uuid7()
    after = time.time_ns() // 1_000_000
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert before <= made.int >> 80 <= after


def test_identifiers_of_one_millisecond_still_grow() -> None:
    sequence = ids.Sequence(lambda: NOON)
    made = [sequence.take() for _ in range(10_000)]
    assert made == sorted(set(made))
    assert {one.int >> 80 for one in made} == {NOON}


def test_a_clock_set_back_does_not_break_the_order() -> None:
    moments = iter([NOON, NOON - 60_000, NOON - 1, NOON + 1])
    sequence = ids.Sequence(lambda: next(moments))
    made = [sequence.take() for _ in range(4)]
    assert made == sorted(set(made))
    assert made[-1].int >> 80 == NOON + 1


def test_a_used_up_millisecond_borrows_the_next_one() -> None:
    sequence = ids.Sequence(lambda: NOON)
    first = sequence.take()
    sequence._tail = (1 << ids.TAIL_BITS) - 1
    second = sequence.take()
    assert first < second
    assert second.int >> 80 == NOON + 1
    assert (second.version, second.variant) == (7, uuid.RFC_4122)


def test_threads_never_share_an_identifier() -> None:
    sequence = ids.Sequence(lambda: NOON)
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: sequence.take(), range(4000)))
    assert len(set(made)) == 4000


def test_an_opaque_secret_is_its_prefix_and_43_base64url_characters() -> None:
    made = {ids.opaque("halo_at_") for _ in range(100)}
    assert len(made) == 100
    assert all(re.fullmatch(r"halo_at_[A-Za-z0-9_-]{43}", one) for one in made)


def test_a_secret_is_stored_as_its_sha256() -> None:
    # The example of FIPS 180-2, appendix B.1.
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert ids.sha256_hex("abc") == expected


def test_a_lone_surrogate_is_hashed_and_not_refused() -> None:
    assert ids.sha256_hex("\ud800") != ids.sha256_hex("\ud801")
