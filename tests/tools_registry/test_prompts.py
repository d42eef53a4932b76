"""Prompts: listed, got, refused and recorded; and what the built-in ones say."""

import pytest

from audit.models import ActionExecution
from mcp_protocol.revisions import REVISIONS, Revision, revisions_since
from tests.drivers import grants
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient, Reply

MODERN = Revision.V2026_07_28


def got(client: McpClient, name: object, arguments: object = None) -> Reply:
    params = {"name": name} if arguments is None else {"name": name, "arguments": arguments}
    return client.request("prompts/get", params)


def text_of(reply: Reply) -> str:
    (message,) = reply.result["messages"]
    assert message["role"] == "user"
    text: str = message["content"]["text"]
    return text


def list_prompts(client: McpClient) -> list[str]:
    return [one["name"] for one in client.request("prompts/list").result["prompts"]]


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_the_built_in_prompts_are_listed(mcp: McpClient, revision: Revision) -> None:
    assert list_prompts(mcp.with_revision(revision)) == ["plan_lookups", "review_write"]


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.usefixtures("books")
def test_a_prompt_is_serialized_as_far_as_the_revision_can(
    mcp: McpClient, revision: Revision
) -> None:
    prompts = mcp.with_revision(revision).request("prompts/list").result["prompts"]
    (tell,) = (one for one in prompts if one["name"] == "tell")
    titled, decorated = revisions_since(Revision.V2025_06_18), revisions_since(Revision.V2025_11_25)
    expected = {"name", "description", "arguments"}
    expected |= {"title", "_meta"} if revision in titled else set()
    expected |= {"icons"} if revision in decorated else set()
    assert set(tell) == expected
    topic, tone = tell["arguments"]
    assert (topic["name"], topic["required"], tone["required"]) == ("topic", True, False)
    assert ("title" in topic) == (revision in titled)


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.usefixtures("books")
def test_every_block_of_a_prompt_leaves_in_a_form_the_revision_can_carry(
    mcp: McpClient, revision: Revision
) -> None:
    messages = got(mcp.with_revision(revision), "tell", {"topic": "bees"}).result["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", *["user"] * 4]
    assert messages[0]["content"]["text"] == "Tell of bees, plainly."
    kinds = [message["content"]["type"] for message in messages]
    audio = "audio" if revision in revisions_since(Revision.V2025_03_26) else "text"
    link = "resource_link" if revision in revisions_since(Revision.V2025_06_18) else "text"
    assert kinds == ["text", "text", "image", audio, "resource", link]


def test_planning_names_the_tools_that_change_nothing(mcp: McpClient) -> None:
    text = text_of(got(mcp, "plan_lookups", {"question": "Who {may} do what?"}))
    assert "Who {may} do what?" in text
    assert "- search_docs: Search the public" in text


@pytest.mark.usefixtures("lab")
def test_planning_leaves_out_what_writes_and_what_is_switched_off(
    mcp: McpClient, grant: Grant
) -> None:
    grant.connect("crm", enabled=("create_deal", "find_contact"))
    text = text_of(got(mcp, "plan_lookups", {"question": "Who?"}))
    assert "- crm.find_contact:" in text
    assert "crm.create_deal" not in text
    grant.connect("crm", enabled=("create_deal",))
    assert "crm.find_contact" not in text_of(got(mcp, "plan_lookups", {"question": "Who?"}))


@pytest.mark.usefixtures("lab")
def test_a_review_shows_the_tool_and_the_write(mcp: McpClient, grant: Grant) -> None:
    grant.connect("crm", enabled=("create_deal",))
    text = text_of(got(mcp, "review_write", {"tool": "crm.create_deal", "write": "amount 5"}))
    assert "Create a deal" in text
    assert "amount 5" in text
    assert "It changes something." in text


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("tool", ["crm.create_deal", "crm.no_such", "crm.delete_contact"])
def test_a_review_of_a_tool_that_cannot_be_seen_looks_like_one_of_none(
    mcp: McpClient, tool: str
) -> None:
    reply = got(mcp, "review_write", {"tool": tool, "write": "x"})
    assert reply.error == {
        "code": -32602,
        "message": "This tool does not exist or is not available to you.",
        "data": {"field": "tool", "reason": "must be a tool that is available to you"},
    }


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (None, "question"),
        ({}, "question"),
        ({"question": 5}, "question"),
        ({"question": None}, "question"),
        ({"question": " "}, "question"),
        ({"question": "x" * 20_001}, "question"),
        ({"question": "\x00"}, "question"),
        ({"question": "x", "other": "y"}, "other"),
        ([], "arguments"),
        ("x", "arguments"),
    ],
)
def test_arguments_that_do_not_fit_are_invalid_params(
    mcp: McpClient, revision: Revision, arguments: object, field: str
) -> None:
    reply = got(mcp.with_revision(revision), "plan_lookups", arguments)
    assert (reply.status, reply.code, reply.error["data"]["field"]) == (200, -32602, field)
    assert ActionExecution.objects.count() == 1


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize("name", ["no_such", "search_docs", "Plan_lookups", None, 5, ""])
def test_an_unknown_prompt_is_an_invalid_param(
    mcp: McpClient, revision: Revision, name: object
) -> None:
    reply = got(mcp.with_revision(revision), name)
    assert (reply.status, reply.code, reply.error["data"]["field"]) == (200, -32602, "name")


@pytest.mark.usefixtures("books")
@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize(
    ("topic", "code", "outcome"),
    [
        ("missing", -32602, "not_found"),
        ("invalid", -32602, "validation_failed"),
        ("broken", -32603, "tool_error"),
    ],
)
def test_a_prompt_that_fails_is_an_error_at_every_revision(
    mcp: McpClient, revision: Revision, topic: str, code: int, outcome: str
) -> None:
    reply = got(mcp.with_revision(revision), "tell", {"topic": topic})
    assert (reply.status, reply.code) == (200, code)
    assert "hunter2" not in reply.body.decode()
    assert ActionExecution.objects.get().outcome == outcome


def test_a_prompt_leaves_one_row(mcp: McpClient) -> None:
    got(mcp, "plan_lookups", {"question": "Why?"})
    row = ActionExecution.objects.get()
    assert (row.method, row.tool, row.outcome) == ("prompts/get", "plan_lookups", "success")
    assert row.arguments == {"question": "Why?"}


def test_an_unknown_prompt_leaves_one_row_too(mcp: McpClient) -> None:
    got(mcp, "no_such")
    row = ActionExecution.objects.get()
    assert (row.tool, row.outcome, row.reason) == ("no_such", "not_found", "prompt_not_found")


@pytest.mark.usefixtures("books")
@pytest.mark.django_db
def test_a_missing_scope_hides_a_prompt_and_refuses_it_with_a_challenge() -> None:
    narrow = McpClient(grants.make_grant("docs:read").token())
    assert list_prompts(narrow) == ["plan_lookups", "review_write"]
    reply = got(narrow, "tell", {"topic": "bees"})
    assert reply.status == 403
    assert 'scope="docs:read setup:read"' in reply.headers["www-authenticate"]


@pytest.mark.usefixtures("books")
def test_a_prompt_of_an_integration_is_on_while_its_action_is(mcp: McpClient, grant: Grant) -> None:
    assert got(mcp, "crm.greet").error["data"]["reason"] == "not_connected"
    grant.connect("crm", enabled=("find_contact",))
    assert "crm.greet" in list_prompts(mcp)
    assert text_of(got(mcp, "crm.greet")) == "Greet Ada."


def test_the_name_header_repeats_the_prompt(mcp: McpClient) -> None:
    params = {"name": "plan_lookups", "arguments": {"question": "x"}}
    reply = mcp.with_revision(MODERN).request(
        "prompts/get", params, headers={"Mcp-Name": "review_write"}
    )
    assert (reply.status, reply.code) == (400, -32020)


def test_prompts_may_be_kept_for_seconds_and_a_fetched_one_says_nothing_of_it(
    mcp: McpClient,
) -> None:
    client = mcp.with_revision(MODERN)
    result = client.request("prompts/list").result
    assert (result["ttlMs"], result["cacheScope"]) == (5_000, "private")
    assert "ttlMs" not in got(client, "plan_lookups", {"question": "x"}).result
