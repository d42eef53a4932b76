"""The copy of a SQLite file that a migration starts from."""

import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest
from django.db import connection

from halo_mcp import bootstrap
from workspace.models import User

VISIT = """import sqlite3, sys
visit = sqlite3.connect(sys.argv[1])
visit.execute("SELECT count(*) FROM django_session").fetchall()
visit.close()"""


@pytest.fixture
def database(transactional_db: None, settings: object) -> Path:  # noqa: ARG001  asked for its effect
    if connection.vendor != "sqlite":
        pytest.skip("only SQLite is copied aside")
    return Path(str(connection.settings_dict["NAME"]))


@pytest.fixture
def database_copy(database: Path, settings: object) -> Path:
    settings.DATABASES["default"]["NAME"] = str(database)  # type: ignore[attr-defined]  # pytest's
    User.objects.create_user("ada@acme.example")
    bootstrap._copy_aside()
    return database.with_suffix(".before-migration")


@pytest.mark.parametrize("email", [pytest.param("ada@acme.example", id="W08-copy")])
def test_the_copy_holds_what_was_committed(email: str, database_copy: Path) -> None:
    with closing(sqlite3.connect(database_copy)) as copy:
        assert copy.execute("SELECT email FROM workspace_user").fetchall() == [(email,)]
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs Linux's list of open files")
@pytest.mark.usefixtures("database_copy")
def test_another_process_closing_the_database_leaves_our_journal_alone(database: Path) -> None:
    # Had the copy dropped our locks, the other process would think itself the last one out and
    # delete the journal that we go on writing to.
    subprocess.run([sys.executable, "-c", VISIT, str(database)], check=True)
    assert not [name for name in _open_files() if name.endswith("-wal (deleted)")]


def _open_files() -> list[str]:
    found = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the listing's own
            found.append(str(link.readlink()))
    return found
