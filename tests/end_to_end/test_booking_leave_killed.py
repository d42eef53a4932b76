"""The server is killed between the approval of a person and the commit: leave is booked once."""

import asyncio
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from mcp import types

from tests.drivers import server
from tests.end_to_end.test_booking_leave import (
    MODES,
    ElicitedPerson,
    Workspace,
    connect,
    make_workspace,
    prepare_leave,
)

pytestmark = [
    pytest.mark.process,
    pytest.mark.daily,
    pytest.mark.skipif(
        not os.environ.get("DATABASE_URL", "").startswith("postgres"),
        reason="PostgreSQL says what waits for a lock",
    ),
]

APPROVED = types.ElicitResult(action="accept", content={"approve": True})
DAYS = dict(zip(MODES, [("2031-03-03", "2031-03-05"), ("2031-04-07", "2031-04-09")], strict=True))
WAITING = """SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock'"""
WAIT_SECONDS = 60


class LockedTable:
    """The table of requests; once it is locked, what would change it waits."""

    def __init__(self, database_url: str) -> None:
        self.locking, self.watching = (
            psycopg.connect(database_url, autocommit=True) for _number in range(2)
        )
        self.locking.execute("BEGIN")

    def lock(self) -> None:
        self.locking.execute("LOCK TABLE people_timeoff IN SHARE MODE")

    def wait_until_awaited(self, by: int) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while self._waiting() < by:
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def _waiting(self) -> int:
        found = self.watching.execute(WAITING).fetchone()
        return 0 if found is None else int(found[0])

    def release(self) -> None:
        self.locking.close()
        self.watching.close()


class LockingPerson(ElicitedPerson):
    """Approves when each of the two has been asked, and locks the table before."""

    def __init__(self, table: LockedTable, barrier: asyncio.Barrier) -> None:
        super().__init__(APPROVED)
        self.table, self.barrier = table, barrier

    async def elicit(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        async with self.barrier:
            self.table.lock()
        return await super().elicit(context, params)


async def kill_before_the_commits(workspace: Workspace, tokens: dict[str, str]) -> None:
    """Kills the server while it waits to save what persons at two clients have approved."""
    table = LockedTable(workspace.server.env["DATABASE_URL"])
    barrier = asyncio.Barrier(len(MODES))

    async def book(mode: str) -> None:
        # The answer that the client waits for never comes.
        with suppress(Exception):
            async with connect(workspace, mode, LockingPerson(table, barrier)) as call:
                facts = (await prepare_leave(call, DAYS[mode])).structured_content
                tokens[mode] = facts["confirmation_token"]
                await call("commit_api_write", confirmation_token=tokens[mode])

    clients = [asyncio.create_task(book(mode)) for mode in MODES]
    try:
        await asyncio.to_thread(table.wait_until_awaited, len(MODES))
        workspace.server.process.kill()
        workspace.server.process.wait(WAIT_SECONDS)
        await asyncio.gather(*clients)
    finally:
        table.release()


def test_approved_changes_are_saved_once_when_the_server_is_killed_before_the_commit(
    tmp_path: Path,
) -> None:
    with server.running(tmp_path, {"HALO_HR_WRITE_MODE": "enabled"}) as first:
        workspace, tokens = make_workspace(first), dict[str, str]()
        before = workspace.requests()
        asyncio.run(kill_before_the_commits(workspace, tokens))
        assert first.process.returncode == -signal.SIGKILL
        assert workspace.requests() == before

        async def commit_twice(mode: str, person: ElicitedPerson) -> list[bool]:
            token = {"confirmation_token": tokens[mode]}
            async with connect(workspace, mode, person) as call:
                results = [await call("commit_api_write", **token) for _number in range(2)]
            return [one.structured_content["is_repeated"] for one in results]

        log = tmp_path / "again.log"
        with server.start_server(first.url, log, first.env, "manage.py", "up"):
            for mode in MODES:
                person = ElicitedPerson(APPROVED)
                assert asyncio.run(commit_twice(mode, person)) == [False, True]
                assert len(person.shown) == 1
        assert workspace.requests() == before + len(MODES)
