"""The migrations of `search_text` on a PostgreSQL database that is in use."""

from collections.abc import Iterator

import pytest
from django.db import OperationalError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from tests.drivers import grants
from tests.drivers.grants import Grant
from tests.drivers.threads import ticket
from workspace.migrations import _words
from workspace.models import AuthorKind, Ticket, TicketMessage

BEFORE = "0007_read_files_of_others"
LAST = "0009_search_text_indexes"
INDEXES = """
    SELECT c.relname, i.indisvalid FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
    WHERE c.relname LIKE %s OR c.relname LIKE %s
"""
VALID = {
    *(("workspace_ticketmessage_search", True), ("workspace_conversationmessage_search", True)),
    *(("workspace_conv_unfilled", True), ("workspace_lead_unfilled", True)),
    ("workspace_tkt_unfilled", True),
}

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has one writer."),
]


def migrate(name: str) -> None:
    MigrationExecutor(connection).migrate([("workspace", name)])


def read_indexes() -> set[tuple[str, bool]]:
    with connection.cursor() as cursor:
        cursor.execute(INDEXES, [r"workspace\_%message\_search", r"workspace\_%\_unfilled"])
        return {(name, is_valid) for name, is_valid in cursor.fetchall()}


@pytest.fixture
def grant(transactional_db: None) -> Grant:  # noqa: ARG001  opens the database
    """A grant with the columns of today, made before the tables are those of an earlier version."""
    return grants.make_grant()


@pytest.fixture
def old_ticket(grant: Grant) -> Ticket:
    return ticket(grant, "About")


@pytest.fixture
def earlier(old_ticket: Ticket) -> Iterator[None]:  # noqa: ARG001  made first
    """The tables of the version before, and those of today afterwards."""
    migrate(BEFORE)
    yield
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


@pytest.mark.usefixtures("earlier")
def test_a_change_of_a_table_does_not_wait_long_for_its_readers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_words, "LIMIT_WAITS", _words.LIMIT_WAITS.replace("5s", "50ms"))
    reader = connection.copy()
    try:
        reader.set_autocommit(autocommit=False)
        with reader.cursor() as cursor:
            cursor.execute("SELECT 1 FROM workspace_ticketmessage")
        with pytest.raises(OperationalError, match="lock timeout"):
            migrate(LAST)
    finally:
        reader.close()
    applied = MigrationRecorder(connection).applied_migrations()
    assert ("workspace", "0008_search_text") not in applied
    migrate(LAST)
    assert read_indexes() == VALID


@pytest.mark.usefixtures("earlier")
def test_indexes_that_were_interrupted_are_made_again(old_ticket: Ticket) -> None:
    migrate("0008_search_text")
    TicketMessage.objects.create(
        organization_id=old_ticket.organization_id,
        ticket=old_ticket,
        position=1,
        author_kind=AuthorKind.CUSTOMER,
        text="Größe",
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE INDEX workspace_tkt_unfilled ON workspace_ticketmessage (id)"
            "; CREATE INDEX workspace_ticketmessage_search ON workspace_ticketmessage (id)"
        )
    migrate(LAST)
    assert read_indexes() == VALID
    assert TicketMessage.objects.get(ticket=old_ticket).search_text is not None


@pytest.mark.usefixtures("earlier")
def test_an_index_of_passages_that_was_interrupted_is_made_again() -> None:
    migrate("0020_knowledge_words")
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE INDEX workspace_chunk_unfilled ON workspace_knowledgechunk (id)"
            "; CREATE INDEX workspace_knowledgechunk_search ON workspace_knowledgechunk (id)"
        )
    migrate("0021_knowledge_word_indexes")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexdef FROM pg_indexes WHERE tablename = 'workspace_knowledgechunk'"
        )
        made = " ".join(definition for (definition,) in cursor.fetchall())
    assert "gin (search_words)" in made
    assert "WHERE (search_text IS NULL)" in made
