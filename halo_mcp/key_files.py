"""The keys of development, which are files in the data folder.

Production has its keys in the environment (system check halo.E002). A missing key is created for a
new database only. Next to one that is in use, a new key would open nothing that the old one sealed,
and everything would look as if it had never been entered.
"""

import base64
import os
import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from halo_mcp.env import refuse

SECRET_KEY: Final = "secret-key"  # noqa: S105  the name of a file
SEALING_KEY: Final = "sealing-key"
VARIABLES: Final = {SECRET_KEY: "HALO_SECRET_KEY", SEALING_KEY: "HALO_SEALING_KEYS"}
# Everything that is sealed belongs to a row of one of them.
TABLES_IN_USE: Final = ("workspace_user", "workspace_organization")
SECONDS: Final = 5


def read_or_create(path: Path, database: Mapping[str, Any]) -> str:
    """Returns the secret in `path`, created for a new database and readable by its owner only.

    Raises ImproperlyConfigured if the file is missing next to a database that is in use.
    """
    secret = _read(path)
    if secret is None and is_in_use(database):
        # Read again: the process that has begun to use the database may have created it meanwhile.
        secret = _read(path)
        if secret is None:
            raise refuse(
                "HALO_DATA_DIR",
                f"the file {path} is missing, and the database has data that needs it. Restore the "
                f"file from a back-up, or set {VARIABLES[path.name]} "
                "(docs/operate/backup.md#a-missing-key).",
            )
    return secret or _create(path)


def is_in_use(database: Mapping[str, Any]) -> bool:
    """Returns whether a database has a user or an organization.

    `database` is one of Django's settings. Raises ImproperlyConfigured if it cannot be read.
    """
    try:
        if database["ENGINE"].endswith("sqlite3"):
            return _is_sqlite_in_use(Path(str(database["NAME"])))
        return _is_postgresql_in_use(database)
    except sqlite3.Error as error:
        raise refuse("DATABASE_URL", f"{database['NAME']}: {error}") from error


def _is_sqlite_in_use(path: Path) -> bool:
    if not path.is_file() or not path.stat().st_size:
        return False
    address = f"file:{quote(str(path))}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, timeout=SECONDS)) as connection:
        known = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        tables = [name for name in TABLES_IN_USE if (name,) in known]
        return any(_has_rows(connection, table) for table in tables)


def _is_postgresql_in_use(database: Mapping[str, Any]) -> bool:
    import psycopg  # noqa: PLC0415  takes a tenth of a second, and is needed before a first start

    # The others are Django's and psycopg's own.
    known = {each.keyword.decode() for each in psycopg.pq.Conninfo.get_defaults()}
    options = {name: value for name, value in database.get("OPTIONS", {}).items() if name in known}
    names = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST"}
    parts = (names | {"port": "PORT"}).items()
    # What the address leaves empty may be an option, as `?host=` with the folder of a socket.
    given = {own: database[name] for own, name in parts if database.get(name)}
    try:
        with psycopg.connect(**{"connect_timeout": SECONDS} | options | given) as connection:
            found = (connection.execute("SELECT to_regclass(%s)", [name]) for name in TABLES_IN_USE)
            is_there = [each.fetchone() != (None,) for each in found]
            tables = [name for name, there in zip(TABLES_IN_USE, is_there, strict=True) if there]
            return any(_has_rows(connection, table) for table in tables)
    except psycopg.Error as error:
        raise refuse("DATABASE_URL", str(error).partition("\n")[0]) from error


def _has_rows(connection: Any, table: str) -> bool:
    query = f"SELECT 1 FROM {table} LIMIT 1"  # noqa: S608  a name of ours
    return connection.execute(query).fetchone() is not None


def _read(path: Path) -> str | None:
    """Returns what a key file holds, or None if there is none."""
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refuse("HALO_DATA_DIR", f"cannot read {path.name}: {error.strerror}") from error


def _create(path: Path) -> str:
    secret = base64.b64encode(secrets.token_bytes(32)).decode()
    with _scratch_file(path, f"{secret}\n") as scratch:
        try:
            # Linked: two processes that start together must use the same key.
            os.link(scratch, path)
        except FileExistsError:
            return path.read_text().strip()
    return secret


def replace(path: Path, secrets_of_file: list[str]) -> None:
    """Writes a key file in place of the one that may be there, which no reader finds half-written.

    The first key seals, all of them open.
    """
    with _scratch_file(path, "".join(f"{secret}\n" for secret in secrets_of_file)) as scratch:
        scratch.replace(path)


@contextmanager
def _scratch_file(path: Path, text: str) -> Iterator[Path]:
    """Yields a file next to `path` with this text, which only its owner can read."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.touch(mode=0o600)
        scratch.write_text(text)
        yield scratch
    except OSError as error:
        raise refuse("HALO_DATA_DIR", f"cannot write {path.name}: {error.strerror}") from error
    finally:
        scratch.unlink(missing_ok=True)
