"""Running streaming calls are counted for the connection and its organization, or for neither."""

from typing import Any
from uuid import uuid4

import pytest

from tools_registry.endpoint.streams import conversation


def test_a_call_is_counted_for_both_or_for_neither(settings: Any) -> None:
    settings.HALO_STREAM_THREADS = 8
    one, other, both = uuid4(), uuid4(), uuid4()
    assert all(conversation.acquire(one, both) for _ in range(2))
    assert not conversation.acquire(one, both)
    assert all(conversation.acquire(other, both) for _ in range(2))
    third = uuid4()
    assert not conversation.acquire(third, both)
    conversation.release(other, both)
    assert conversation.acquire(third, both)
    for authorization_id in (one, one, other, third):
        conversation.release(authorization_id, both)
    assert not conversation.OF_CALLER._in_progress
    assert not conversation.OF_ORGANIZATION._in_progress


@pytest.mark.parametrize("threads", [4, 5, 16])
def test_no_tenant_ever_has_all_threads(settings: Any, threads: int) -> None:
    settings.HALO_STREAM_THREADS = threads
    organization, connections = uuid4(), [uuid4() for _ in range(threads)]
    of_one = [one for one in connections[:1] * threads if conversation.acquire(one, organization)]
    of_all = of_one + [one for one in connections if conversation.acquire(one, organization)]
    for authorization_id in of_all:
        conversation.release(authorization_id, organization)
    assert 1 <= len(of_one) <= len(of_all) < threads
