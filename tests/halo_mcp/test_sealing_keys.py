"""A start with keys that do not open what the database holds stops, and says which is missing."""

from io import StringIO
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command

from foundation import sealing
from foundation.models import SealingProof
from halo_mcp import bootstrap, sealing_keys
from tests.drivers.grants import Grant
from workspace import organizations
from workspace.models import Organization

pytestmark = pytest.mark.django_db


def reseal(*options: str) -> str:
    out = StringIO()
    call_command("reseal", *options, stdout=out, stderr=out)
    return out.getvalue()


def starts(settings: Any, *keys: str) -> bool:
    settings.HALO_SEALING_KEYS = list(keys)
    try:
        sealing_keys.prove()
    except ImproperlyConfigured:
        return False
    return True


def test_another_key_than_before_stops_the_start_and_names_the_missing_one(settings: Any) -> None:
    first, second = sealing.new_key(), sealing.new_key()
    assert starts(settings, first)
    assert starts(settings, first)
    proof = SealingProof.objects.get()
    settings.HALO_SEALING_KEYS = [second]
    with pytest.raises(ImproperlyConfigured, match=rf"^HALO_SEALING_KEYS: .*{proof.key_id}[^\n]*$"):
        sealing_keys.prove()
    # The new key has not taken the place of the first.
    assert SealingProof.objects.get() == proof


def test_bootstrap_checks_the_keys(settings: Any) -> None:
    settings.HALO_PRODUCTION = True
    bootstrap.bootstrap()
    settings.HALO_SEALING_KEYS = [sealing.new_key()]
    with pytest.raises(ImproperlyConfigured, match=r"^HALO_SEALING_KEYS: "):
        bootstrap.bootstrap()


def test_a_key_is_changed_in_the_documented_order_only(grant: Grant, settings: Any) -> None:
    # The organization has a secret, which the key of the tests has encrypted.
    old, new = settings.HALO_SEALING_KEYS[0], sealing.new_key()
    assert starts(settings, old)
    assert starts(settings, new, old)
    # Both are in use until everything is encrypted with the first.
    assert not starts(settings, new)
    assert not starts(settings, old)
    settings.HALO_SEALING_KEYS = [new, old]
    reseal()
    assert starts(settings, new)
    assert not starts(settings, old)
    organization = Organization.objects.get(pk=grant.organization.pk)
    settings.HALO_SEALING_KEYS = [new]
    assert organizations.identity_secret(organization)


@pytest.mark.usefixtures("grant")
def test_a_new_key_next_to_secrets_of_an_earlier_version_stops_the_start(settings: Any) -> None:
    known = settings.HALO_SEALING_KEYS[0]
    assert not SealingProof.objects.exists()
    assert not starts(settings, sealing.new_key())
    assert not SealingProof.objects.exists()
    assert starts(settings, known)


def test_a_server_can_start_without_a_key_that_is_lost_once_somebody_says_so(
    grant: Grant, settings: Any
) -> None:
    assert starts(settings, *settings.HALO_SEALING_KEYS)
    new = sealing.new_key()
    assert not starts(settings, new)
    assert f"no configured key decrypts {grant.organization.pk}" in reseal("--forget-lost-keys")
    assert starts(settings, new)


def test_the_message_names_the_file_if_the_key_is_in_one(settings: Any) -> None:
    assert starts(settings, sealing.new_key())
    settings.HALO_SEALING_KEYS = [sealing.new_key()]
    settings.SEALING_KEY_IS_GENERATED = True
    with pytest.raises(ImproperlyConfigured, match="sealing-key"):
        sealing_keys.prove()
