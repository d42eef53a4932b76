"""Requests that an earlier version stored, after the migrations of this one."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from approvals.models import ApprovalRequest
from foundation import ids

APP = "approvals"


def migrated(name: str) -> Any:
    """The request's model as it is after a migration, to which the database is brought."""
    executor = MigrationExecutor(connection)
    executor.migrate([(APP, name)])
    return executor.loader.project_state([(APP, name)]).apps.get_model(APP, "ApprovalRequest")


@pytest.fixture
def before(transactional_db: None) -> Iterator[Any]:  # noqa: ARG001  asked for its effect
    """The model with OAuth tokens as the only credentials."""
    newest = MigrationExecutor(connection).loader.graph.leaf_nodes(APP)
    try:
        yield migrated("0002_any_tool")
    finally:
        MigrationExecutor(connection).migrate(newest)


def test_a_request_made_with_an_oauth_token_names_its_kind(before: Any) -> None:
    organization = before._meta.get_field("organization").related_model.objects.create(
        name="Acme", slug="acme"
    )
    token, authorization = str(uuid4()), str(uuid4())
    earlier = before.objects.create(
        id=ids.uuid7(),
        organization=organization,
        requested_with="stripe.request_refund",
        tool="stripe.refund",
        integration="stripe",
        arguments={"amount": 5},
        digest="d" * 64,
        summary="Refund",
        user_id="u",
        user_email="u@example.com",
        client_id="c",
        authorization_id=authorization,
        token_id=token,
        expires_at=timezone.now(),
    )

    migrated("0005_waiting_calls")

    row = ApprovalRequest.objects.get(pk=earlier.pk)
    assert (row.credential, row.credential_id) == ("halo_at_", token)
    assert (row.authorization_id, row.digest) == (authorization, "d" * 64)
    assert (row.arguments, row.status) == ({"amount": 5}, "pending")
