"""Prepares a deployment for its first request: tables, search index, a demo organization.

Every step checks before it writes, so a second start changes nothing. A setting that cannot be used
stops the start; the message has the name of the setting.
"""

import secrets
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import structlog
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.validators import validate_email
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from customers.demo import progress, seeding
from documentation import index
from foundation import limits, sealing
from foundation.db import waits
from halo_mcp import broker, checks, data_folder, env, sealing_keys
from oauth.consent import obsolete_scopes
from people import seeding as people_records
from workspace import organizations
from workspace.models import Organization, User

DEMO_ORGANIZATION = "Demo organization"
DEMO_TIME_ZONE, DEMO_CURRENCY = "Europe/Berlin", "EUR"
REDIS_SECONDS = 5
# What this role may use of this database (PostgreSQL 15, 20.3.1). LEAST ignores NULL, no limit.
ACCEPTED_CONNECTIONS = """
SELECT least(
    current_setting('max_connections')::int
        - current_setting('superuser_reserved_connections')::int,
    (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user),
    (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database())
)
"""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, repr=False)
class FirstAdmin:
    """The admin that a first start created; the password is None if a setting gave it."""

    email: str
    password: str | None


def bootstrap() -> FirstAdmin | None:
    """Brings the database up to date; returns the first admin if this call created one.

    Raises ImproperlyConfigured, with the name of the variable, for a setting that cannot be used.
    """
    reach_what_settings_name()
    migrate()
    sealing_keys.prove()
    # Before this version serves: a later one may add an integration under a name that this one does
    # not know.
    obsolete_scopes.remove()
    index.refresh(settings.HALO_DOCS_SOURCE)
    if settings.HALO_PRODUCTION:
        return None
    admin = found_demo()
    _add_demo_data()
    return admin


def reach_what_settings_name() -> None:
    """Checks the data folder, the documentation, the database, the counters and the keys.

    Raises ImproperlyConfigured with the name of the first variable that cannot be used.
    """
    _try_data_folder()
    _try_documentation()
    if settings.REDIS_URL:
        _try_redis("REDIS_URL", settings.REDIS_URL)
    _try_database()
    warn_of_few_connections()
    _try_limit_store()
    sealing.seal(b"", context=b"halo_mcp.bootstrap")


def migrate() -> bool:
    """Applies missing migrations, after a copy of a SQLite file; returns whether there were any."""
    if not missing_migrations():
        # A database with all that a squashed migration replaces has the squashed one too.
        MigrationExecutor(connection).check_replacements()
        return False
    _copy_aside()
    call_command("migrate", verbosity=0, interactive=False)
    return True


def missing_migrations() -> list[str]:
    """Returns the migrations that the database lacks, in order, such as `audit.0001_squashed`.

    Raises ImproperlyConfigured for a database that this version cannot migrate.
    """
    for problem in checks.migrations_can_continue(checks.DATABASES):
        raise env.refuse("DATABASE_URL", problem.msg)
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _backwards in plan]


@transaction.atomic
def found_demo() -> FirstAdmin | None:
    """Creates the demo organization and its admin in a database without users and organizations."""
    if User.objects.exists() or Organization.objects.exists():
        return None
    _try_admin_email()
    given = settings.HALO_ADMIN_PASSWORD
    password = given or secrets.token_urlsafe(12)
    admin = User.objects.create_superuser(settings.HALO_ADMIN_EMAIL, password, name="Demo Admin")
    organization = organizations.create(DEMO_ORGANIZATION, owner=admin)
    organization.time_zone, organization.currency = DEMO_TIME_ZONE, DEMO_CURRENCY
    organization.save(update_fields=["time_zone", "currency"])
    if settings.HALO_DEMO_DATA != "off":
        seeding.plan(organization, settings.HALO_DEMO_DATA)
        people_records.seed(organization, timezone.localdate())
    return FirstAdmin(admin.email, None if given else password)


def _add_demo_data() -> None:
    # Planned with the demo organization, and continued if the first start was interrupted.
    if settings.HALO_DEMO_DATA != "off":
        for seed in seeding.list_unfinished(settings.HALO_DEMO_DATA):
            progress.show(seed)


def _copy_aside() -> None:
    # SQLite cannot roll back a migration that was killed.
    database = Path(str(settings.DATABASES["default"]["NAME"]))
    if connection.vendor != "sqlite" or not database.is_file() or not database.stat().st_size:
        return
    if not connection.introspection.table_names():
        return  # a first start: connecting has written the mode of the journal
    # SQLite's own backup, not a file copy: opening and closing the file besides the connection
    # would drop this process's locks on it (sqlite.org/howtocorrupt.html, section 2.2).
    with closing(sqlite3.connect(database.with_suffix(".before-migration"))) as copy:
        connection.connection.backup(copy)


def _try_data_folder() -> None:
    try:
        settings.HALO_DATA_DIR.mkdir(parents=True, exist_ok=True)
        broker.make_folders()
        data_folder.restrict_files(settings.HALO_DATA_DIR, settings.DATABASES["default"])
        tempfile.TemporaryFile(dir=settings.HALO_DATA_DIR).close()
    except OSError as error:
        reason = f"cannot write to {settings.HALO_DATA_DIR}: {error.strerror}"
        raise env.refuse("HALO_DATA_DIR", reason) from error


def _try_documentation() -> None:
    try:
        index.require_folder(settings.HALO_DOCS_SOURCE)
    except index.DocumentationMissing as missing:
        raise env.refuse("HALO_DOCS_SOURCE", str(missing)) from missing


def _try_redis(name: str, url: str) -> None:
    import redis  # noqa: PLC0415  only where it is used

    from foundation.redis_client import build_client  # noqa: PLC0415  the same

    try:
        with build_client(url, REDIS_SECONDS) as client:
            client.ping()
    except (ValueError, redis.RedisError) as error:
        raise env.refuse(name, _first_line(error)) from error


def _try_database() -> None:
    try:
        # A transaction and not only a connection: on SQLite it takes the write lock.
        with transaction.atomic():
            pass
    except DatabaseError as error:
        raise env.refuse("DATABASE_URL", _first_line(error)) from error


def warn_of_few_connections() -> None:
    """Logs a warning if the processes of this deployment may want more than PostgreSQL accepts."""
    if connection.vendor != "postgresql":
        return
    listening = settings.HALO_NOTICES == "postgresql"
    of_web = settings.HALO_PROCESSES * (settings.HALO_DATABASE_CONNECTIONS + listening)
    of_worker = waits.WORKER_PROCESSES * waits.worker_limits().connections
    wanted = of_web + of_worker
    with connection.cursor() as cursor:
        cursor.execute(ACCEPTED_CONNECTIONS)
        (accepted,) = cursor.fetchone()
    if wanted > accepted:
        log.warning(
            "few_database_connections",
            wanted=wanted,
            accepted=accepted,
            hint="Raise max_connections of PostgreSQL, or the limit of the role or the database, "
            "or lower HALO_DATABASE_CONNECTIONS (docs/operate/deployment.md).",
        )


def _try_limit_store() -> None:
    name, store = "HALO_LIMIT_STORE", settings.HALO_LIMIT_STORE
    try:
        limits.build_store(store).close()
    except ValueError as error:
        raise env.refuse(name, str(error)) from error
    if store == "postgresql" and connection.vendor != "postgresql":
        raise env.refuse(name, "is postgresql, and the database is another one")
    if store not in {"memory", "postgresql", settings.REDIS_URL}:
        _try_redis(name, store)


def _try_admin_email() -> None:
    try:
        validate_email(settings.HALO_ADMIN_EMAIL)
    except ValidationError as error:
        raise env.refuse("HALO_ADMIN_EMAIL", "expected an e-mail address") from error


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
