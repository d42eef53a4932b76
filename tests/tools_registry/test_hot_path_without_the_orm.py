"""Calls and lists read with statements that are written out: none is compiled while they run.

Building and compiling one query costs more than everything the databases do for a call.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias
from unittest.mock import patch

import pytest
from django.db.models.sql import compiler

from foundation import limits
from mcp_protocol.revisions import Revision
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient, Reply
from workspace.models import Organization

pytestmark = pytest.mark.usefixtures("lab")
WIRES = [Revision.V2025_11_25, Revision.V2026_07_28]
READING = compiler.SQLCompiler
WRITING = (compiler.SQLInsertCompiler, compiler.SQLUpdateCompiler, compiler.SQLDeleteCompiler)
Ask: TypeAlias = Callable[[McpClient], Reply]


@pytest.fixture
def client(mcp: McpClient, grant: Grant, settings: Any) -> McpClient:
    settings.HALO_LIMIT_STORE = "memory"
    limits.reset_store()
    grant.connect("crm", enabled=("find_contact", "create_deal", "delete_contact"))
    grant.customer(email="ada@example.com")
    return mcp


@contextmanager
def record_compiled_models(*kinds: Any) -> Iterator[list[str]]:
    """The models that queries are compiled for while the block runs."""
    received: list[str] = []
    watches = [patch.object(kind, "as_sql", _noting(kind, received)) for kind in kinds]
    for watch in watches:
        watch.start()
    try:
        yield received
    finally:
        for watch in watches:
            watch.stop()


def _noting(kind: Any, received: list[str]) -> Callable[..., Any]:
    as_sql = kind.as_sql

    def noting(made: Any, *given: Any, **named: Any) -> Any:
        received.append(made.query.model.__name__)
        return as_sql(made, *given, **named)

    return noting


def calling(tool: str, **meta: str) -> Ask:
    return lambda client: client.call(tool, meta=meta)


def listing(client: McpClient) -> Reply:
    return client.request("tools/list")


SILENT = {
    "list": (listing, 200),
    "read": (calling("crm.find_contact"), 200),
    "written": (calling("crm.create_deal"), 200),
    "bound": (calling("crm.find_contact", bound_email="ada@example.com"), 200),
    "refused": (calling("crm.delete_contact"), 200),
    "unknown": (calling("nope"), 200),
    "stranger": (lambda client: listing(client.holding(None)), 401),
}


@pytest.mark.parametrize("revision", WIRES, ids=str)
@pytest.mark.parametrize("name", SILENT)
def test_no_query_is_compiled(client: McpClient, revision: Revision, name: str) -> None:
    ask, status = SILENT[name]
    ask(client.with_revision(revision))
    with record_compiled_models(READING, *WRITING) as queries:
        assert ask(client.with_revision(revision)).status == status
    assert queries == []


@pytest.mark.django_db
def test_a_query_that_is_compiled_would_be_seen() -> None:
    with record_compiled_models(READING, *WRITING) as queries:
        list(Organization.objects.all())
        Organization.objects.update(name="Another")
    assert queries == ["Organization", "Organization"]
