"""An operator reads an organization's identity secret on the server, and replaces it."""

import re
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from audit.models import SecurityEvent
from foundation import sealing
from workspace import organizations
from workspace.models import Organization, User

SECRET = re.compile(r"ha_secret_[A-Za-z0-9_-]{43}\n")


@pytest.fixture
def acme(db: None) -> Organization:  # noqa: ARG001  opens the database for the test
    owner = User.objects.create_user("ada@acme.example")
    return organizations.create("Acme Rockets", owner=owner)


def message(*words: str) -> str:
    output = StringIO()
    call_command("identity_secret", *words, stdout=output)
    return output.getvalue()


def test_the_secret_is_shown_the_same_each_time(acme: Organization) -> None:
    first = message(acme.slug)

    assert SECRET.fullmatch(first)
    assert message(acme.slug) == first


def test_every_organization_has_a_secret_of_its_own(acme: Organization) -> None:
    other = organizations.create("Other", owner=User.objects.get())

    assert message(acme.slug) != message(other.slug)


def test_rotating_makes_a_new_one_that_stays(acme: Organization) -> None:
    old = message(acme.slug)
    new = message(acme.slug, "--rotate")

    assert SECRET.fullmatch(new)
    assert new != old
    assert message(acme.slug) == new


def test_each_look_and_each_change_is_on_record_without_the_secret(acme: Organization) -> None:
    secrets = {message(acme.slug), message(acme.slug, "--rotate")}

    events = SecurityEvent.objects.filter(organization_id=str(acme.pk)).order_by("kind")
    kinds = [event.kind for event in events]
    assert kinds == ["identity_secret_rotated", "identity_secret_shown"]
    written = repr(list(events.values()))
    assert not any(secret.strip() in written for secret in secrets)


def test_an_unknown_organization_is_named(acme: Organization) -> None:  # noqa: ARG001  another
    with pytest.raises(CommandError, match="'nowhere'"):
        message("nowhere")


def test_a_secret_whose_key_was_lost_can_only_be_replaced(
    acme: Organization, settings: Any
) -> None:
    settings.HALO_SEALING_KEYS = [sealing.new_key()]

    with pytest.raises(CommandError, match=r"HALO_SEALING_KEYS.*--rotate"):
        message(acme.slug)
    assert message(acme.slug, "--rotate") == message(acme.slug)


def test_a_secret_copied_from_another_row_does_not_open(acme: Organization) -> None:
    other = organizations.create("Other", owner=User.objects.get())
    Organization.objects.filter(pk=other.pk).update(identity_secret=acme.identity_secret)

    with pytest.raises(CommandError, match="cannot be decrypted"):
        message(other.slug)


def test_an_organization_without_one_is_shown_how_to_get_one(acme: Organization) -> None:
    Organization.objects.update(identity_secret=None)

    with pytest.raises(CommandError, match="--rotate"):
        message(acme.slug)
