"""L04: what is cached or indexed for all organizations holds nothing of one of them."""

import json
from typing import Any

import pytest

from foundation.limits import Limit
from mcp_protocol.revisions import REVISIONS, Revision
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient, Reply

pytestmark = pytest.mark.usefixtures("lab")

QUERIES: dict[str, dict[str, Any]] = {
    "search_docs": {"query": "install the widget"},
    "read_doc": {"page": "scopes"},
    "setup_get_install_snippet": {},
    "setup_get_jwt_sample": {"language": "python"},
}


def names_of(grant: Grant) -> set[str]:
    """Every text that only this organization has."""
    organization = grant.organization
    return {str(organization.pk), organization.pk.hex, organization.name, organization.widget_key}


def list_tools(client: McpClient) -> Any:
    return client.request("tools/list").result


def body(reply: Reply) -> str:
    return json.dumps(reply.json, ensure_ascii=False)


@pytest.mark.parametrize("tool", QUERIES)
@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_l04_the_same_question_of_two_organizations_mixes_nothing(
    grant: Grant, tool: str, revision: Revision
) -> None:
    other = make_grant()
    clients = [(McpClient(one.token(), revision), one) for one in (grant, other, grant, other)]
    answers = [body(client.call(tool, QUERIES[tool])) for client, _ in clients]
    assert answers[:2] == answers[2:]
    assert not any(name in answers[1] for name in names_of(grant))
    assert not any(name in answers[0] for name in names_of(other))
    # The documentation is the same for all; a snippet has the organization's own id and key.
    is_shared = tool in {"search_docs", "read_doc"}
    assert (answers[0] == answers[1]) == is_shared


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_l04_a_list_that_one_organization_has_asked_for_is_not_the_list_of_another(
    grant: Grant, revision: Revision
) -> None:
    other = make_grant()
    grant.connect("crm", enabled=("create_deal", "find_contact"))
    mine, theirs = McpClient(grant.token(), revision), McpClient(other.token(), revision)
    lists = [list_tools(client) for client in (mine, theirs, mine, theirs)]
    assert lists[:2] == lists[2:]
    names = [{tool["name"] for tool in one["tools"]} for one in lists[:2]]
    assert names[0] - names[1] == {"crm.create_deal", "crm.find_contact"}
    other.connect("crm", enabled=("find_contact",))
    assert "crm.find_contact" in str(list_tools(theirs))
    assert "crm.create_deal" not in str(list_tools(theirs))


def test_l04_a_limit_that_one_organization_has_spent_is_not_spent_for_another(
    grant: Grant, settings: Any
) -> None:
    settings.HALO_RATE_TOOLS_CALL = Limit(1, 60)
    mine, theirs = McpClient(grant.token()), McpClient(make_grant().token())
    statuses = [client.call("echo", {"value": 1}).status for client in (mine, mine, theirs, theirs)]
    assert statuses == [200, 429, 200, 429]
