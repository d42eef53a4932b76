"""Sealed values as text: one spelling each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foundation import sealed_text
from foundation.sealing import SealBroken

CONTEXT = b"test"


@given(st.binary(max_size=200))
def test_what_was_sealed_comes_back_and_is_visible_ascii(plaintext: bytes) -> None:
    text = sealed_text.seal(plaintext, context=CONTEXT)
    assert all(0x21 <= ord(character) <= 0x7E for character in text)
    assert sealed_text.unseal(text, context=CONTEXT) == plaintext


@given(st.binary(max_size=20), st.text(max_size=3), st.integers(0, 80))
def test_any_other_text_does_not_open(plaintext: bytes, more: str, place: int) -> None:
    text = sealed_text.seal(plaintext, context=CONTEXT)
    changed = text[:place] + more + text[place + 1 :]
    if changed != text:
        with pytest.raises(SealBroken):
            sealed_text.unseal(changed, context=CONTEXT)


@pytest.mark.parametrize("tail", ["=", "==", "-TAMPERED", "\n", " ", "A", "AA"])
def test_nothing_may_stand_behind_it(tail: str) -> None:
    for length in range(3):
        text = sealed_text.seal(b"x" * length, context=CONTEXT)
        with pytest.raises(SealBroken):
            sealed_text.unseal(text + tail, context=CONTEXT)


def test_bits_that_count_for_nothing_must_be_zero() -> None:
    texts = [sealed_text.seal(b"x" * length, context=CONTEXT) for length in range(3)]
    loose = next(text for text in texts if len(text) % 4 == 2)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    follower = alphabet[alphabet.index(loose[-1]) + 1]
    with pytest.raises(SealBroken):
        sealed_text.unseal(loose[:-1] + follower, context=CONTEXT)


def test_another_context_opens_nothing() -> None:
    with pytest.raises(SealBroken):
        sealed_text.unseal(sealed_text.seal(b"x", context=CONTEXT), context=b"other")
