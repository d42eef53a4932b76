"""Database connections of threads that serve requests: tried when quiet, dropped when broken."""

from collections.abc import Iterator
from unittest.mock import Mock

import pytest
from django.db import connections

from foundation.db import waits

pytestmark = pytest.mark.django_db


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mock]:
    """Every look at the connections; this thread's was quiet until now."""
    looked_at = Mock()
    monkeypatch.setattr(waits, "close_old_connections", looked_at)
    monkeypatch.setattr(waits, "_thread", waits._Thread())
    monkeypatch.setattr(connections["default"], "errors_occurred", False)
    return looked_at


def work() -> int:
    return 42


def break_down() -> int:
    connections["default"].errors_occurred = True
    raise RuntimeError


def test_a_connection_that_was_quiet_is_tried_before_it_is_used(looked_at: Mock) -> None:
    assert waits.with_connection(work) == 42
    assert looked_at.call_count == 1


def test_a_connection_that_has_just_worked_is_not_tried_again(looked_at: Mock) -> None:
    for _ in range(5):
        waits.with_connection(work)
    assert looked_at.call_count == 1


def test_a_connection_is_tried_again_after_a_rest(
    looked_at: Mock, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits.with_connection(work)
    monkeypatch.setattr(waits, "TRUSTED_SECONDS", -1)
    waits.with_connection(work)
    assert looked_at.call_count == 2


def test_a_connection_that_an_error_broke_is_dropped_at_once(
    looked_at: Mock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waits, "drop_connection", dropped := Mock())
    with pytest.raises(RuntimeError):
        waits.with_connection(break_down)
    assert (looked_at.call_count, dropped.call_count) == (1, 1)
