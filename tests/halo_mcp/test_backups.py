"""`manage.py backup` and `restore`: a deployment that was lost, and comes back with its secrets."""

import os
import re
import sqlite3
import stat
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command

from tests.drivers import forked_commands, server

pytestmark = [pytest.mark.slow, pytest.mark.sqlite]

EMAIL = "ada@example.com"
PASSPHRASE = "correct horse battery staple"
OTHER_KEY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
# Cheap for the process of the command; the archive says how its key was derived.
CHEAP = "from halo_mcp.backups import encryption; encryption.COST = 2\n"
MANAGE = f"{CHEAP}import sys, manage; manage.main()"
FOUND = """
import django
django.setup()
from workspace import organizations
from workspace.models import User
owner = User.objects.create_user("ada@example.com", "a password of some length")
organizations.create("Acme", owner=owner)
"""


@dataclass(frozen=True)
class Place:
    """A deployment without a server, and its commands."""

    env: Mapping[str, str]

    @property
    def data(self) -> Path:
        return Path(self.env["HALO_DATA_DIR"])

    def run(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        return forked_commands.run(words, {**self.env, **env})

    def manage(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        return self.run("-c", MANAGE, *words, **env)


@contextmanager
def make_place(folder: Path) -> Iterator[Place]:
    """A deployment without tables."""
    folder.mkdir(exist_ok=True)
    port = server.free_port()
    with server.backends_of_its_own(port) as backends:
        env = server.environment(folder, port) | backends
        yield Place(env | {"DJANGO_SETTINGS_MODULE": "halo_mcp.settings"})


@dataclass(frozen=True)
class BackedUp:
    """A deployment with one organization, and its two back-ups."""

    place: Place
    passphrase: Path
    file: Path
    without_keys: Path


@pytest.fixture(scope="module")
def backed_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BackedUp]:
    folder = tmp_path_factory.mktemp("original")
    passphrase = folder / "passphrase"
    passphrase.write_text(PASSPHRASE)
    with make_place(folder) as place:
        server.lay_tables(place.env)
        founded = place.run("-c", FOUND)
        assert founded.returncode == 0, founded.stderr
        (place.data / "journal").mkdir()
        (place.data / "journal" / "outcomes").write_text("not stored yet")
        file, without_keys = folder / "one.backup", folder / "two.backup"
        for words in (
            [str(file), "--passphrase-file", str(passphrase)],
            [str(without_keys), "--without-keys"],
        ):
            done = place.manage("backup", *words)
            assert done.returncode == 0, done.stdout + done.stderr
        yield BackedUp(place, passphrase, file, without_keys)


@pytest.fixture
def empty_place(tmp_path: Path) -> Iterator[Place]:
    """A deployment without tables, keys and files."""
    with make_place(tmp_path) as place:
        yield place


def restore(place: Place, backed_up: BackedUp, *words: str) -> subprocess.CompletedProcess[str]:
    given = ["--passphrase-file", str(backed_up.passphrase), *words]
    return place.manage("restore", str(backed_up.file), *given)


@contextmanager
def connect(place: Place) -> Iterator[None]:
    """Another process is connected to the database, as a server is."""
    if url := place.env.get("DATABASE_URL"):
        with psycopg.connect(url):
            yield
        return
    with closing(sqlite3.connect(place.data / server.DATABASE)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("SELECT count(*) FROM workspace_user").fetchall()
        yield


def find_people(place: Place) -> list[str]:
    """The email addresses of a database, which may have no tables."""
    query = "SELECT email FROM workspace_user"
    if url := place.env.get("DATABASE_URL"):
        with psycopg.connect(url) as database:
            return [row[0] for row in database.execute(query)]
    with closing(sqlite3.connect(place.data / server.DATABASE)) as database:
        return [row[0] for row in database.execute(query)]


def test_a_restored_deployment_opens_what_the_lost_one_sealed(
    backed_up: BackedUp, empty_place: Place
) -> None:
    restored = restore(empty_place, backed_up)

    assert restored.returncode == 0, restored.stdout + restored.stderr
    assert "checksums are right" in restored.stdout
    assert "rows, as in the back-up" in restored.stdout
    assert "identity secrets: 1 decrypted" in restored.stdout
    assert restored.stdout.endswith("Restored.\n")
    assert find_people(empty_place) == [EMAIL]
    for name in ("sealing-key", "secret-key", "journal/outcomes"):
        assert (empty_place.data / name).read_text() == (backed_up.place.data / name).read_text()
        assert stat.S_IMODE((empty_place.data / name).stat().st_mode) == 0o600


def test_a_database_with_data_is_replaced_only_if_the_command_says_so(
    backed_up: BackedUp, empty_place: Place
) -> None:
    server.lay_tables(empty_place.env)
    founded = empty_place.run("-c", FOUND.replace(EMAIL, "bob@example.com"))
    assert founded.returncode == 0, founded.stderr

    refused = restore(empty_place, backed_up)

    assert refused.returncode == 1
    assert "The database has data. Repeat the command with --replace" in refused.stderr
    with connect(empty_place):
        in_use = restore(empty_place, backed_up, "--replace")
    assert in_use.returncode == 1
    assert "stop the web processes and the worker first" in in_use.stderr
    assert find_people(empty_place) == ["bob@example.com"]
    replaced = restore(empty_place, backed_up, "--replace")
    assert replaced.returncode == 0, replaced.stdout + replaced.stderr
    assert "identity secrets: 1 decrypted" in replaced.stdout
    assert find_people(empty_place) == [EMAIL]
    assert (empty_place.data / "sealing-key.before-restore").exists()


def test_a_back_up_without_keys_is_restored_next_to_the_key_that_sealed_its_values(
    backed_up: BackedUp, empty_place: Place, settings: Any
) -> None:
    settings.HALO_SEALING_KEYS = [OTHER_KEY]
    file = f"Restore the file {settings.HALO_DATA_DIR}/sealing-key"
    with pytest.raises(CommandError, match=f"The back-up has no keys.*{re.escape(file)}"):
        call_command("restore", str(backed_up.without_keys))
    empty_place.data.mkdir()
    (empty_place.data / "sealing-key").write_text(
        (backed_up.place.data / "sealing-key").read_text()
    )

    restored = empty_place.manage("restore", str(backed_up.without_keys))

    assert restored.returncode == 0, restored.stdout + restored.stderr
    assert "identity secrets: 1 decrypted" in restored.stdout


def test_other_keys_of_the_environment_are_named_before_anything_is_changed(
    backed_up: BackedUp, settings: Any
) -> None:
    settings.HALO_SEALING_KEYS, settings.SEALING_KEY_IS_GENERATED = [OTHER_KEY], False

    with pytest.raises(CommandError, match="HALO_SEALING_KEYS does not have the key"):
        call_command("restore", str(backed_up.file), passphrase_file=str(backed_up.passphrase))


def test_a_back_up_is_checked_without_a_change(
    backed_up: BackedUp, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("restore", backed_up.file, check=True, passphrase_file=str(backed_up.passphrase))

    assert capsys.readouterr().out.startswith("The back-up is complete: ")
    wrong = tmp_path / "wrong"
    wrong.write_text("another passphrase")
    with pytest.raises(CommandError, match="The passphrase is wrong, or the file was changed"):
        call_command("restore", backed_up.file, check=True, passphrase_file=str(wrong))


def test_only_its_owner_can_read_a_back_up_and_it_replaces_no_file(
    backed_up: BackedUp, settings: Any
) -> None:
    assert stat.S_IMODE(backed_up.file.stat().st_mode) == 0o600
    before = backed_up.file.read_bytes()

    with pytest.raises(CommandError, match="exists: choose another name"):
        call_command("backup", backed_up.file, without_keys=True)
    with pytest.raises(CommandError, match="is in the data folder"):
        call_command("backup", settings.HALO_DATA_DIR / "x", without_keys=True)

    assert backed_up.file.read_bytes() == before


@pytest.mark.skipif(not os.environ.get("DATABASE_URL"), reason="only PostgreSQL has programs")
def test_a_missing_program_of_postgresql_is_named(backed_up: BackedUp, tmp_path: Path) -> None:
    target = tmp_path / "x"

    done = backed_up.place.manage("backup", str(target), "--without-keys", PATH="/nonexistent")

    assert "pg_dump is not installed: install the client programs" in done.stderr
    assert "Traceback" not in done.stderr
    assert [*tmp_path.iterdir()] == []
