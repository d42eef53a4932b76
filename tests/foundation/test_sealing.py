import base64

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from foundation import sealing
from foundation.sealing import SealBroken, new_key, seal, unseal

ROW_7 = b"workspace.organization:7:identity_secret"
ROW_8 = b"workspace.organization:8:identity_secret"


@pytest.fixture(autouse=True)
def key(settings: Settings) -> str:
    made = new_key()
    settings.HALO_SEALING_KEYS = [made]
    return made


@pytest.mark.parametrize("plaintext", [b"", b"ha_secret_x", bytes(range(256)) * 40])
def test_what_is_sealed_opens_in_its_own_place(plaintext: bytes) -> None:
    assert unseal(seal(plaintext, context=ROW_7), context=ROW_7) == plaintext


def test_a_value_moved_to_another_row_does_not_open() -> None:
    sealed = seal(b"ha_secret_x", context=ROW_7)
    with pytest.raises(SealBroken):
        unseal(sealed, context=ROW_8)


def test_any_changed_byte_breaks_the_seal() -> None:
    sealed = seal(b"ha_secret_x", context=ROW_7)
    for place in range(len(sealed)):
        changed = bytearray(sealed)
        changed[place] ^= 1
        with pytest.raises(SealBroken):
            unseal(bytes(changed), context=ROW_7)


def test_every_shortened_value_breaks_the_seal() -> None:
    sealed = seal(b"ha_secret_x", context=ROW_7)
    for length in range(len(sealed)):
        with pytest.raises(SealBroken):
            unseal(sealed[:length], context=ROW_7)


def test_sealing_twice_never_looks_the_same() -> None:
    assert seal(b"x", context=ROW_7) != seal(b"x", context=ROW_7)


def test_the_sealed_form_is_37_bytes_longer_and_hides_the_plaintext() -> None:
    sealed = seal(b"ha_secret_x", context=ROW_7)
    assert len(sealed) == len(b"ha_secret_x") + 37
    assert b"ha_secret_x" not in sealed


def test_after_rotation_old_values_open(settings: Settings, key: str) -> None:
    old = seal(b"x", context=ROW_7)
    settings.HALO_SEALING_KEYS = [new_key(), key]
    assert unseal(old, context=ROW_7) == b"x"


def test_a_removed_key_opens_nothing_and_its_id_is_named(settings: Settings) -> None:
    old = seal(b"x", context=ROW_7)
    settings.HALO_SEALING_KEYS = [new_key()]
    with pytest.raises(SealBroken, match=old[1:9].hex()):
        unseal(old, context=ROW_7)


def test_a_new_key_is_32_bytes_of_base64() -> None:
    assert len(base64.b64decode(new_key(), validate=True)) == 32


@pytest.mark.parametrize("bad", ["", "short", "!" * 44, "A" * 40, "A" * 48, "é" * 44])
def test_a_bad_key_stops_without_being_quoted(settings: Settings, bad: str) -> None:
    settings.HALO_SEALING_KEYS = [new_key(), bad]
    with pytest.raises(ImproperlyConfigured) as caught:
        seal(b"x", context=ROW_7)
    assert "HALO_SEALING_KEYS[1]" in str(caught.value)
    assert not bad or bad not in str(caught.value)


def test_no_keys_at_all_is_a_configuration_error(settings: Settings) -> None:
    settings.HALO_SEALING_KEYS = []
    with pytest.raises(ImproperlyConfigured):
        seal(b"x", context=ROW_7)


def test_a_key_in_memory_has_no_text_form(key: str) -> None:
    held = sealing._SealingKey.from_bytes(base64.b64decode(key))
    assert repr(held) == f"_SealingKey(id={held.id!r})"
