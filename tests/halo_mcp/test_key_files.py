"""Keys in the data folder: created for a new database, missing next to one that is in use."""

import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from halo_mcp import data_folder, env, key_files
from tests.drivers import forked_commands, server
from workspace.models import User


@pytest.fixture
def new_database(tmp_path: Path) -> dict[str, Any]:
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": tmp_path / "halo.sqlite3"}


def test_a_key_is_created_once_and_is_its_owner_s_alone(
    tmp_path: Path, new_database: dict[str, Any]
) -> None:
    path = tmp_path / "var" / "secret-key"

    created = key_files.read_or_create(path, new_database)

    assert len(created) >= 40
    assert key_files.read_or_create(path, new_database) == created
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["secret-key"]


def test_two_deployments_get_different_keys(tmp_path: Path, new_database: dict[str, Any]) -> None:
    one, two = (
        key_files.read_or_create(tmp_path / name / "sealing-key", new_database)
        for name in ("one", "two")
    )
    assert one != two


def test_of_two_processes_that_create_the_key_at_once_both_use_the_first(
    tmp_path: Path, new_database: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "secret-key"
    read_text = Path.read_text

    def another_process_is_faster(self: Path) -> str:
        if self == path and not path.exists():
            path.write_text("of the other process\n")
            raise FileNotFoundError
        return read_text(self)

    monkeypatch.setattr(Path, "read_text", another_process_is_faster)

    assert key_files.read_or_create(path, new_database) == "of the other process"


@pytest.mark.parametrize("place", ["key/under/a/file", "key"])
def test_a_folder_that_cannot_hold_the_key_is_refused_by_name(
    tmp_path: Path, new_database: dict[str, Any], place: str
) -> None:
    (tmp_path / "key").mkdir() if place == "key" else (tmp_path / "key").touch()

    with pytest.raises(ImproperlyConfigured, match=r"^HALO_DATA_DIR: cannot "):
        key_files.read_or_create(tmp_path / place, new_database)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("name", "variable"),
    [("secret-key", "HALO_SECRET_KEY"), ("sealing-key", "HALO_SEALING_KEYS")],
)
def test_no_new_key_is_created_next_to_a_database_with_people(
    tmp_path: Path, name: str, variable: str
) -> None:
    path = tmp_path / name
    User.objects.create_user("ada@example.com")

    with pytest.raises(ImproperlyConfigured) as refused:
        key_files.read_or_create(path, connection.settings_dict)

    assert f"the file {path} is missing" in str(refused.value)
    assert variable in str(refused.value)
    assert not path.exists()
    path.write_text("restored\n")
    assert key_files.read_or_create(path, connection.settings_dict) == "restored"


@pytest.mark.django_db(transaction=True)
def test_a_database_without_people_gets_a_key(tmp_path: Path) -> None:
    assert key_files.read_or_create(tmp_path / "sealing-key", connection.settings_dict)


def test_a_database_that_cannot_be_read_gets_no_key(
    tmp_path: Path, new_database: dict[str, Any]
) -> None:
    new_database["NAME"].write_bytes(b"no database" * 100)

    with pytest.raises(ImproperlyConfigured, match=r"^DATABASE_URL: .*not a database"):
        key_files.read_or_create(tmp_path / "sealing-key", new_database)
    assert not (tmp_path / "sealing-key").exists()


@pytest.mark.once
@pytest.mark.parametrize("missing", ["secret-key", "sealing-key"])
def test_every_command_stops_and_names_the_key_file_that_is_missing(
    tmp_path: Path, missing: str
) -> None:
    env = server.environment(tmp_path, server.free_port())
    env.pop("DATABASE_URL", None)
    data = tmp_path / "data"
    data.mkdir()
    for name in {"secret-key", "sealing-key"} - {missing}:
        (data / name).write_text("kept\n")
    with closing(sqlite3.connect(data / server.DATABASE)) as database:
        database.execute("CREATE TABLE workspace_organization (id text)")
        database.execute("INSERT INTO workspace_organization VALUES ('acme')")
        database.commit()

    done = forked_commands.run(["manage.py", "up"], env)

    assert done.returncode == 1
    (line,) = (done.stdout + done.stderr).splitlines()
    assert line.startswith(f"halo: HALO_DATA_DIR: the file {data / missing} is missing")
    assert not (data / missing).exists()


def test_others_lose_their_rights_to_files_of_the_data_folder(
    tmp_path: Path, new_database: dict[str, Any]
) -> None:
    files = [
        new_database["NAME"],
        tmp_path / "halo.sqlite3-wal",
        tmp_path / "halo.before-migration",
    ]
    files += [tmp_path / "sealing-key", tmp_path / "beat-schedule.db"]
    for file in files:
        file.touch(mode=0o644)
    (tmp_path / "notices").mkdir(mode=0o755)
    stranger = tmp_path / "index.html"
    stranger.touch(mode=0o644)
    stranger.chmod(0o644)

    data_folder.restrict_files(tmp_path, new_database)

    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "notices").stat().st_mode) == 0o700
    assert stat.S_IMODE(stranger.stat().st_mode) == 0o644


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "postgresql", reason="a file has no address")
def test_a_database_whose_host_is_an_option_of_its_url_is_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = connection.settings_dict
    options = urlencode({"host": there["HOST"], "port": there["PORT"]})
    monkeypatch.setenv(
        "DATABASE_URL", f"postgres://{there['USER']}:{there['PASSWORD']}@/{there['NAME']}?{options}"
    )
    monkeypatch.setenv("PGHOST", "127.0.0.255")  # what is used without one

    created = key_files.read_or_create(tmp_path / "secret-key", env.database("DATABASE_URL", ""))

    assert len(created) >= 40
