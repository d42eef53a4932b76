"""A database with the demo data for measurements: made once, and used again by its name."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from bench.databases import Sqlite
from bench.scratch import ROOT, database

if TYPE_CHECKING:
    from workspace.models import Organization

SERVER: Final = "postgres://postgres@127.0.0.1:5432/postgres"
KEPT: Final = ROOT / "var" / "bench"
# Passages of the knowledge base at each size, besides those of the demo data.
PASSAGES: Final = {"small": 0, "large": 20_000}
EVERY_SECONDS: Final = 30


@contextmanager
def prepared(store: str, server: str, name: str) -> Iterator[str]:
    """Yields the URL of a database: the one of a name, or one that is gone after the block."""
    if store == "sqlite" and name:
        KEPT.mkdir(parents=True, exist_ok=True)
        yield f"sqlite:///{KEPT / name}.sqlite3"
    elif store == "sqlite":
        with TemporaryDirectory() as folder, Sqlite(Path(folder)).empty() as url:
            yield url
    elif name:
        yield _named(server, name)
    else:
        with database(server) as url:
            yield url


def filled(size: str) -> "Organization":
    """The organization with the demo data of a size; what is missing of it is stored first."""
    from workspace import organizations  # noqa: PLC0415  settings first
    from workspace.models import DemoSeed, Organization, User  # noqa: PLC0415  the same

    seed = DemoSeed.objects.select_related("organization").filter(size=size).first()
    if (
        seed is not None
        and seed.finished_at is not None
        and _has_knowledge(seed.organization, size)
    ):
        return seed.organization
    organization: Organization | None = seed.organization if seed else Organization.objects.first()
    if organization is None:
        owner = User.objects.create_user("bench@example.com")
        organization = organizations.found("Bench", owner=owner)
    _seed(organization, size)
    _add_knowledge(organization, size)
    _settle_tables()
    return organization


def _named(server: str, name: str) -> str:
    with psycopg.connect(server, autocommit=True) as admin:
        known = admin.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone()
        if known is None:
            admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return urlsplit(server)._replace(path=f"/{name}").geturl()


def _seed(organization: "Organization", size: str) -> None:
    from workspace.demo import seeding  # noqa: PLC0415  settings first
    from workspace.models import DemoSeed  # noqa: PLC0415  the same

    seed = DemoSeed.objects.select_related("organization").filter(pk=organization.pk).first()
    if seed is not None and seed.finished_at is not None:
        return
    said = time.monotonic()
    for step in seeding.run(seed or seeding.plan(organization, size)):
        if time.monotonic() - said > EVERY_SECONDS:
            said = time.monotonic()
            say(f"demo data: {step.part}, part {step.done} of {step.total}")


def _has_knowledge(organization: "Organization", size: str) -> bool:
    from workspace.models import KnowledgeChunk  # noqa: PLC0415  settings first

    many = KnowledgeChunk.objects.filter(organization=organization).count()
    return many > PASSAGES[size]


def _add_knowledge(organization: "Organization", size: str) -> None:
    """Indexes the documents of the demo data, and adds made-up passages."""
    from bench import search  # noqa: PLC0415  settings first
    from workspace import knowledge  # noqa: PLC0415  the same
    from workspace.models import KnowledgeSource  # noqa: PLC0415  the same

    for source in KnowledgeSource.objects.filter(organization=organization, status="pending"):
        knowledge.index(source.pk)
    if PASSAGES[size]:
        search.fill(organization, PASSAGES[size])


def _settle_tables() -> None:
    """Leaves the tables as a database at rest has them."""
    from django.db import connection  # noqa: PLC0415  settings first

    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)" if connection.vendor == "postgresql" else "ANALYZE")


def say(line: str) -> None:
    sys.stderr.write(f"bench: {line}\n")
    sys.stderr.flush()
