"""The database connections of the edge's threads: tried when quiet, dropped when broken."""

from collections.abc import Iterator
from unittest.mock import Mock

import pytest
from django.db import connections

from tools_registry.endpoint import asgi

pytestmark = pytest.mark.django_db


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mock]:
    """Every look at the connections; this thread's was quiet until now."""
    looked_at = Mock()
    monkeypatch.setattr(asgi, "close_old_connections", looked_at)
    monkeypatch.setattr(asgi, "_thread", asgi._Thread())
    monkeypatch.setattr(connections["default"], "errors_occurred", False)
    return looked_at


def work() -> int:
    return 42


def break_down() -> int:
    connections["default"].errors_occurred = True
    raise RuntimeError


def test_a_connection_that_was_quiet_is_tried_before_it_is_used(looked_at: Mock) -> None:
    assert asgi.with_connection(work) == 42
    assert looked_at.call_count == 1


def test_a_connection_that_has_just_worked_is_not_tried_again(looked_at: Mock) -> None:
    for _ in range(5):
        asgi.with_connection(work)
    assert looked_at.call_count == 1


def test_a_connection_is_tried_again_after_a_rest(
    looked_at: Mock, monkeypatch: pytest.MonkeyPatch
) -> None:
    asgi.with_connection(work)
    monkeypatch.setattr(asgi, "TRUSTED_SECONDS", -1)
    asgi.with_connection(work)
    assert looked_at.call_count == 2


def test_a_connection_that_an_error_broke_is_dropped_at_once(
    looked_at: Mock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asgi, "drop_connection", dropped := Mock())
    with pytest.raises(RuntimeError):
        asgi.with_connection(break_down)
    assert (looked_at.call_count, dropped.call_count) == (1, 1)
