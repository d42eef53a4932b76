"""What has to be there before the first request: tables, a first organization, the search index.

Every step looks before it writes, so a second start changes nothing. What a setting names and
cannot be reached or read ends the start with that setting's name.
"""

import secrets
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import redis
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.validators import validate_email
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from foundation import limits, sealing
from halo_mcp import broker, env
from tools_registry.documentation import index
from workspace import organizations
from workspace.models import Organization, User

DEMO_ORGANIZATION = "Demo organization"
REDIS_SECONDS = 5


@dataclass(frozen=True, slots=True, repr=False)
class FirstAdmin:
    """The admin that a first start made; the password is set when it was drawn here."""

    email: str
    password: str | None


def bootstrap() -> FirstAdmin | None:
    """Bring the database up to date; returns the first admin when this call made one.

    Raises ImproperlyConfigured, with the name of the variable, for what cannot be worked with.
    """
    reach_what_settings_name()
    migrate()
    _index_documentation()
    return None if settings.HALO_PRODUCTION else found_demo()


def reach_what_settings_name() -> None:
    """Try the data folder, the database, the counters and the keys before anything relies on them.

    Raises ImproperlyConfigured with the name of the first variable that does not hold.
    """
    _try_data_folder()
    _try_redis()
    _try_database()
    _try_limit_store()
    sealing.seal(b"", context=b"halo_mcp.bootstrap")


def migrate() -> bool:
    """Apply what is missing; False when nothing was. A SQLite file is copied aside first."""
    if not missing_migrations():
        return False
    _copy_aside()
    call_command("migrate", verbosity=0, interactive=False)
    return True


def missing_migrations() -> list[str]:
    """What the database lacks of this version, in order, such as `audit.0001_initial`."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _backwards in plan]


@transaction.atomic
def found_demo() -> FirstAdmin | None:
    """The demo organization and its admin, on a database that holds neither person nor place."""
    if User.objects.exists() or Organization.objects.exists():
        return None
    _try_admin_email()
    given = settings.HALO_ADMIN_PASSWORD
    password = given or secrets.token_urlsafe(12)
    admin = User.objects.create_superuser(settings.HALO_ADMIN_EMAIL, password, name="Demo Admin")
    organizations.found(DEMO_ORGANIZATION, owner=admin)
    return FirstAdmin(admin.email, None if given else password)


def _copy_aside() -> None:
    # SQLite cannot undo a migration that was killed half-way.
    database = Path(str(settings.DATABASES["default"]["NAME"]))
    if connection.vendor != "sqlite" or not database.is_file() or not database.stat().st_size:
        return
    connection.ensure_connection()
    # SQLite's own backup, not a file copy: opening and closing the file beside the connection
    # would drop this process's locks on it (sqlite.org/howtocorrupt.html, section 2.2).
    with closing(sqlite3.connect(database.with_suffix(".before-migration"))) as copy:
        connection.connection.backup(copy)


def _index_documentation() -> None:
    try:
        index.refresh(settings.HALO_DOCS_SOURCE)
    except index.DocumentationMissing as missing:
        raise env.refuse("HALO_DOCS_SOURCE", str(missing)) from missing


def _try_data_folder() -> None:
    try:
        settings.HALO_DATA_DIR.mkdir(parents=True, exist_ok=True)
        broker.make_folders()
        tempfile.TemporaryFile(dir=settings.HALO_DATA_DIR).close()
    except OSError as error:
        reason = f"cannot write to {settings.HALO_DATA_DIR}: {error.strerror}"
        raise env.refuse("HALO_DATA_DIR", reason) from error


def _try_redis() -> None:
    if not settings.REDIS_URL:
        return
    try:
        with redis.Redis.from_url(
            settings.REDIS_URL, socket_connect_timeout=REDIS_SECONDS, socket_timeout=REDIS_SECONDS
        ) as client:
            client.ping()
    except (ValueError, redis.RedisError) as error:
        raise env.refuse("REDIS_URL", _first_line(error)) from error


def _try_database() -> None:
    try:
        # A transaction, not a connection: on SQLite it asks for the right to write.
        with transaction.atomic():
            pass
    except DatabaseError as error:
        raise env.refuse("DATABASE_URL", _first_line(error)) from error


def _try_limit_store() -> None:
    try:
        limits.build_store(settings.HALO_LIMIT_STORE).close()
    except ValueError as error:
        raise env.refuse("HALO_LIMIT_STORE", str(error)) from error


def _try_admin_email() -> None:
    try:
        validate_email(settings.HALO_ADMIN_EMAIL)
    except ValidationError as error:
        raise env.refuse("HALO_ADMIN_EMAIL", "expected an e-mail address") from error


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
