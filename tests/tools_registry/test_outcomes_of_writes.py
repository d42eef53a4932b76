"""The database fails after a call was carried out: its outcome is neither lost nor asked for again.

The failures are raised where the outcome is written, since the statements before it have to work.
"""

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError

from audit import record
from audit.models import ActionExecution
from foundation import journal
from tests.drivers import grants
from tests.drivers.mcp import McpClient
from tools_registry import registry
from tools_registry.api import Arguments, Facts, ToolContext, Toolset

pytestmark = pytest.mark.django_db(transaction=True)

SHOP = Toolset(scope="docs:read", title="Shop")
NOTHING: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
ORDER = "order 66"
orders: list[str] = []


@SHOP.tool(title="Order", description="Changes something.", input_schema=NOTHING, mutates=True)
def place_order(_context: ToolContext, _arguments: Arguments) -> Facts:
    orders.append(ORDER)
    return Facts(ORDER)


@SHOP.tool(title="Orders", description="Reads.", input_schema=NOTHING)
def list_orders(_context: ToolContext, _arguments: Arguments) -> Facts:
    return Facts(len(orders))


class FailingStatement:
    """A statement that fails so many times before it works."""

    def __init__(self, statement: Any, times: float) -> None:
        self._statement = statement
        self.times = times

    def rows(self, *values: Any) -> Any:
        if self.times > 0:
            self.times -= 1
            raise OperationalError("the connection is lost")
        return self._statement.rows(*values)


@pytest.fixture
def client() -> Iterator[McpClient]:
    orders.clear()
    with registry.including(SHOP):
        yield McpClient(grants.make_grant("actions:*").token())


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> Path:
    """A data folder of the test, and no pauses."""
    monkeypatch.setattr(journal, "PAUSES", (0.0, 0.0, 0.0))
    settings.HALO_DATA_DIR = tmp_path
    return tmp_path / journal.FOLDER


def fail(monkeypatch: pytest.MonkeyPatch, name: str, times: float) -> None:
    monkeypatch.setattr(record, name, FailingStatement(getattr(record, name), times))


def outcome_of(tool: str) -> str:
    return ActionExecution.objects.get(tool=tool).outcome


def test_an_outcome_that_cannot_be_written_at_first_is_written_again(
    client: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(monkeypatch, "FINISH", times=2)
    assert client.call("place_order").facts == ORDER
    assert outcome_of("place_order") == "success"


def test_a_read_whose_row_cannot_be_written_at_first_is_answered_and_recorded(
    client: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(monkeypatch, "INSERT", times=2)
    assert client.call("list_orders").facts == 0
    assert outcome_of("list_orders") == "success"


def test_while_the_database_stays_away_the_result_is_sent_and_its_outcome_kept_on_disk(
    client: McpClient, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    with monkeypatch.context() as patched:
        fail(patched, "FINISH", times=float("inf"))
        assert client.call("place_order").facts == ORDER
    assert outcome_of("place_order") == "started"
    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert b"success" not in file.read_bytes()
    assert journal.replay() == 1
    assert outcome_of("place_order") == "success"
    assert not [*folder.iterdir()]


def test_what_was_kept_is_written_with_the_next_outcome_of_the_process(
    client: McpClient, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    with monkeypatch.context() as patched:
        fail(patched, "INSERT", times=float("inf"))
        assert client.call("list_orders").facts == 0
    assert not ActionExecution.objects.exists()
    client.call("place_order")
    assert outcome_of("list_orders") == "success"
    assert not [*folder.iterdir()]


def test_a_replay_waits_for_the_database_and_loses_nothing(
    client: McpClient, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    with monkeypatch.context() as patched:
        fail(patched, "FINISH", times=float("inf"))
        client.call("place_order")
        assert journal.replay() == 0
    assert len([*folder.iterdir()]) == 1
    assert journal.replay() == 1


def test_an_entry_that_nobody_can_open_stays_and_holds_no_other_up(
    client: McpClient, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    folder.mkdir()
    (folder / "0.entry").write_bytes(b"of another server")
    with monkeypatch.context() as patched:
        fail(patched, "FINISH", times=float("inf"))
        client.call("place_order")
    assert journal.replay() == 1
    assert [file.name for file in folder.iterdir()] == ["0.refused"]


def test_a_write_is_answered_with_its_result_where_nothing_can_be_stored(
    client: McpClient, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    folder.write_text("no folder")
    fail(monkeypatch, "FINISH", times=float("inf"))
    assert client.call("place_order").facts == ORDER
    assert orders == [ORDER]


def test_a_read_that_can_be_recorded_nowhere_fails_with_the_id_of_its_request(
    client: McpClient, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    folder.write_text("no folder")
    fail(monkeypatch, "INSERT", times=float("inf"))
    reply = client.call("list_orders")
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    assert reply.json["id"] is not None


def test_a_write_that_cannot_be_recorded_beforehand_is_not_carried_out(
    client: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(monkeypatch, "INSERT", times=float("inf"))
    reply = client.call("place_order")
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    assert reply.json["id"] is not None
    assert orders == []
