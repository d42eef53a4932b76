"""Places are taken for all holders or for none, and come back."""

from typing import Any
from uuid import uuid4

import pytest

from oauth.principal import authenticate
from tests.drivers.grants import Grant
from tools_registry.places import Places, shares


def test_a_place_is_taken_for_all_holders_or_for_none() -> None:
    one, other, both = uuid4(), uuid4(), uuid4()
    places = Places()
    assert places.take({one: 2, both: 2})
    assert places.take({other: 2, both: 2})
    assert not places.take({one: 2, both: 2})
    places.give_back([other, both])
    assert places.take({one: 2, both: 2})
    places.give_back([one, both])
    places.give_back([one, both])
    assert not places._taken


@pytest.mark.parametrize("threads", [4, 5, 16])
def test_no_tenant_ever_has_all_threads(grant: Grant, settings: Any, threads: int) -> None:
    settings.HALO_STREAM_THREADS = threads
    connection, organization = shares(authenticate(f"Bearer {grant.token()}")).values()
    assert 1 <= connection <= organization < threads
