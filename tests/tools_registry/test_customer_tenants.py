"""Group L: the customers of one organization are nothing to another."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from foundation.limits import Limit
from oauth.models import Authorization
from tests.drivers.bound_calls import (
    Meta,
    assert_rejected,
    bind_email,
    bind_forged_id,
    bind_id,
    whom,
)
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient
from workspace.models import Customer, Membership

pytestmark = pytest.mark.usefixtures("lab")


@pytest.fixture
def ada(grant: Grant) -> Customer:
    return grant.customer(external_id="user-1", email="ada@example.com", name="Ada")


def every_name_of(customer: Customer) -> list[Meta]:
    return [
        bind_id(customer),
        bind_email(customer.email),
        {**bind_id(customer), **bind_email(customer.email)},
        bind_id(customer.external_id),
    ]


def test_l01_a_customer_of_another_organization_is_like_one_that_never_was(
    mcp: McpClient, grant: Grant
) -> None:
    theirs = make_grant().customer(email="theirs@example.com", external_id="user-9")
    for meta in every_name_of(theirs):
        assert assert_rejected(mcp.call("whom", meta=meta)).body == (
            assert_rejected(mcp.call("whom", meta=bind_forged_id(grant))).body
        )


def test_l01_every_look_at_the_table_names_the_organization(
    mcp: McpClient, grant: Grant, ada: Customer
) -> None:
    with CaptureQueriesContext(connection) as captured:
        for meta in every_name_of(ada):
            mcp.call("whom", meta=meta)
    looks = [query["sql"] for query in captured if "workspace_customer" in query["sql"]]
    # Four of customers, and one of the ids of those who were merged.
    assert len(looks) == 5
    assert all("organization_id = " in sql.replace(chr(34), "") for sql in looks)
    assert all(grant.organization.pk.hex in sql.replace("-", "") for sql in looks)


def test_l02_what_two_organizations_share_is_each_ones_own(mcp: McpClient, grant: Grant) -> None:
    others = make_grant()
    facts = {"external_id": "user-1", "email": "ada@example.com"}
    mine, theirs = grant.customer(**facts, name="Mine"), others.customer(**facts, name="Theirs")
    there = McpClient(others.token())
    assert whom(mcp, bind_email("ada@example.com"))["id"] == mine.pk
    assert whom(there, bind_email("ada@example.com"))["id"] == theirs.pk


def test_l07_who_moved_to_another_organization_reaches_the_customers_there_only(
    mcp: McpClient, grant: Grant, ada: Customer
) -> None:
    others = make_grant()
    theirs = others.customer(email="theirs@example.com")
    grant.membership.delete()
    assert mcp.call("whom", meta=bind_id(ada)).status == 401
    joined = Membership.objects.create(user=grant.user, organization=others.organization)
    moved = Authorization.objects.create(
        client=grant.client,
        user=grant.user,
        organization=others.organization,
        membership=joined,
        scope="actions:*",
        resource=grant.authorization.resource,
    )
    now = McpClient(Grant(grant.user, others.organization, joined, grant.client, moved).token())
    assert mcp.call("whom", meta=bind_id(theirs)).status == 401
    assert whom(now, bind_id(theirs))["id"] == theirs.pk
    assert_rejected(now.call("whom", meta=bind_id(ada)))


def test_l08_calls_of_two_organizations_in_turn_stay_apart(
    mcp: McpClient, grant: Grant, settings: Any
) -> None:
    settings.HALO_RATE_TOOLS_CALL = Limit(10_000, 60)
    others = make_grant()
    there = McpClient(others.token())
    mine, theirs = (each.customer(email="same@example.com") for each in (grant, others))
    for turn in range(100):
        client, own, foreign_one = (mcp, mine, theirs) if turn % 2 else (there, theirs, mine)
        assert whom(client, bind_email("same@example.com"))["id"] == own.pk
        assert "error" in client.call("whom", meta=bind_id(foreign_one)).json
