"""Resources: what a caller may read is listed, read, recorded and serialized for each revision."""

import base64
from pathlib import Path

import pytest

from audit.models import ActionExecution
from documentation.index import refresh
from mcp_protocol.revisions import HANDSHAKE, REVISIONS, Revision, revisions_since
from tests.drivers import grants
from tests.drivers.fixture_resources import PIXEL
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tools_registry import registry
from tools_registry.api import ResourceBody, Toolset

MODERN = Revision.V2026_07_28
RULES = "lab://rules"
FOUND = "lab://books/book%201/text"

pytestmark = pytest.mark.usefixtures("books")


def read(client: McpClient, uri: object) -> object:
    return client.request("resources/read", {"uri": uri}).result["contents"]


def uris(client: McpClient) -> list[str]:
    return [one["uri"] for one in client.request("resources/list").result["resources"]]


@pytest.fixture
def pages(tmp_path: Path, db: None) -> None:  # noqa: ARG001  opens the database for the test
    for slug in ("tokens", "scopes"):
        (tmp_path / f"{slug}.md").write_text(f"# About {slug}\n\nRead {slug}.\n")
    refresh(tmp_path)


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.usefixtures("pages")
def test_every_documentation_page_is_a_resource(mcp: McpClient, revision: Revision) -> None:
    client = mcp.with_revision(revision)
    listed = [uri for uri in uris(client) if uri.startswith("docs:")]
    assert listed == ["docs://scopes", "docs://tokens"]
    (page,) = client.request("resources/read", {"uri": "docs://tokens"}).result["contents"]
    assert page == {
        "uri": "docs://tokens",
        "mimeType": "text/markdown",
        "text": "# About tokens\n\nRead tokens.\n",
    }


def test_the_list_tells_declared_resources_and_those_of_templates_by_uri(mcp: McpClient) -> None:
    assert uris(mcp) == [
        "lab://books/book%201/text",
        "lab://books/book%202/text",
        "lab://pixel",
        "lab://rules",
    ]


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_a_resource_is_serialized_as_far_as_the_revision_can(
    mcp: McpClient, revision: Revision
) -> None:
    listed = mcp.with_revision(revision).request("resources/list").result["resources"]
    (rules,) = (one for one in listed if one["uri"] == RULES)
    expected = {"uri", "name", "description", "mimeType", "size", "annotations"}
    expected |= {"title", "_meta"} if revision in revisions_since(Revision.V2025_06_18) else set()
    expected |= {"icons"} if revision in revisions_since(Revision.V2025_11_25) else set()
    assert set(rules) == expected
    modified = "lastModified" in rules["annotations"]
    assert modified == (revision in revisions_since(Revision.V2025_06_18))


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_templates_are_listed_in_order(mcp: McpClient, revision: Revision) -> None:
    result = mcp.with_revision(revision).request("resources/templates/list").result
    listed = [one["uriTemplate"] for one in result["resourceTemplates"]]
    assert listed == ["docs://{page}", "lab://books/{book}/text", "lab://unlisted/{name}"]


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_text_and_bytes_are_read(mcp: McpClient, revision: Revision) -> None:
    client = mcp.with_revision(revision)
    (text,) = client.request("resources/read", {"uri": RULES}).result["contents"]
    assert (text["mimeType"], text["text"]) == ("text/plain", "Be kind.")
    (data,) = client.request("resources/read", {"uri": "lab://pixel"}).result["contents"]
    assert base64.b64decode(data["blob"]) == PIXEL
    assert "text" not in data


def test_a_template_is_read_with_its_values_decoded(mcp: McpClient) -> None:
    assert read(mcp, FOUND) == [
        {"uri": FOUND, "mimeType": "text/markdown", "text": "This is book 1."}
    ]


@pytest.mark.parametrize("method", ["resources/list", "resources/templates/list"])
def test_lists_may_be_kept_for_seconds_and_contents_not_at_all(mcp: McpClient, method: str) -> None:
    client = mcp.with_revision(MODERN)
    for kept, result in (
        (5_000, client.request(method).result),
        (0, client.request("resources/read", {"uri": RULES}).result),
    ):
        assert (result["ttlMs"], result["cacheScope"]) == (kept, "private")


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize(
    "uri",
    [
        "lab://nothing",
        "docs://no-such-page",
        "docs://../tokens",
        "docs://%00",
        "docs://%ff",
        "docs://",
        "file:///etc/passwd",
        "lab://books/missing/text",
        "lab://books/a/b/text",
        "LAB://rules",
    ],
)
def test_an_unknown_resource_is_an_error_that_names_the_uri(
    mcp: McpClient, revision: Revision, uri: str
) -> None:
    reply = mcp.with_revision(revision).request("resources/read", {"uri": uri})
    assert reply.status == 200
    assert reply.code == (-32602 if revision == MODERN else -32002)
    assert reply.error["data"] == {"uri": uri}
    row = ActionExecution.objects.get()
    assert (row.method, row.tool, row.outcome) == ("resources/read", uri, "not_found")


@pytest.mark.parametrize("uri", [None, 5, "", ["lab://rules"], "x" * 2_049, "lab://\x00"])
@pytest.mark.parametrize("method", ["resources/read", "resources/subscribe"])
def test_what_can_be_no_uri_is_an_invalid_param(mcp: McpClient, method: str, uri: object) -> None:
    reply = mcp.request(method, {"uri": uri})
    assert (reply.status, reply.code, reply.error["data"]["field"]) == (200, -32602, "uri")
    assert ActionExecution.objects.get().outcome == "protocol_error"


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize(
    ("book", "code", "outcome"),
    [
        ("invalid", -32602, "validation_failed"),
        ("broken", -32603, "tool_error"),
        ("huge", -32603, "tool_error"),
    ],
)
def test_a_failure_is_an_error_at_every_revision(
    mcp: McpClient, revision: Revision, book: str, code: int, outcome: str
) -> None:
    reply = mcp.with_revision(revision).request(
        "resources/read", {"uri": f"lab://books/{book}/text"}
    )
    assert (reply.status, reply.code) == (200, code)
    assert "hunter2" not in reply.body.decode()
    assert ActionExecution.objects.get().outcome == outcome


def test_the_other_sides_refusal_has_the_code_of_a_refusal(mcp: McpClient) -> None:
    asked = {"uri": "lab://books/unauthorized/text"}
    assert mcp.request("resources/read", asked).code == -32002
    assert mcp.with_revision(MODERN).request("resources/read", asked).code == -31002


def test_a_resource_that_must_ask_and_cannot_says_so_and_gives_nothing(mcp: McpClient) -> None:
    reply = mcp.request("resources/read", {"uri": "lab://unlisted/x"})
    assert reply.code == -32603
    assert ActionExecution.objects.get().outcome == "input_required"


def test_a_read_leaves_one_row_with_its_uri(mcp: McpClient, grant: Grant) -> None:
    read(mcp, RULES)
    row = ActionExecution.objects.get()
    assert (row.method, row.tool, row.outcome) == ("resources/read", RULES, "success")
    assert row.authorization_id == str(grant.authorization.pk)


def test_lists_leave_no_row(mcp: McpClient) -> None:
    for method in ("resources/list", "resources/templates/list", "prompts/list"):
        assert mcp.request(method).status == 200
    assert not ActionExecution.objects.exists()


@pytest.mark.parametrize("method", ["resources/read", "resources/subscribe"])
@pytest.mark.parametrize("uri", [RULES, FOUND])
@pytest.mark.django_db
def test_a_missing_scope_hides_a_resource_and_refuses_it_with_a_challenge(
    method: str, uri: str
) -> None:
    narrow = McpClient(grants.make_grant("docs:read").token())
    assert uris(narrow) == []
    templates = narrow.request("resources/templates/list").result["resourceTemplates"]
    assert [one["uriTemplate"] for one in templates] == ["docs://{page}"]
    reply = narrow.request(method, {"uri": uri})
    assert reply.status == 403
    assert 'scope="docs:read setup:read"' in reply.headers["www-authenticate"]
    row = ActionExecution.objects.get()
    assert (row.method, row.outcome, row.reason) == (method, "refused", "scope_denied")


@pytest.mark.parametrize(("uri", "text"), [("crm://contacts", "Ada"), ("crm://people/Bo", "Bo")])
def test_a_resource_of_an_integration_is_on_while_its_action_is(
    mcp: McpClient, grant: Grant, uri: str, text: str
) -> None:
    def reason() -> object:
        return mcp.request("resources/read", {"uri": uri}).error["data"]["reason"]

    assert reason() == "not_connected"
    grant.connect("crm", enabled=("find_contact",), actions_on=False)
    assert reason() == "integration_disabled"
    grant.connect("crm", enabled=("create_deal",))
    assert reason() == "agent_disabled"
    assert "crm://contacts" not in uris(mcp)
    grant.connect("crm", enabled=("find_contact",))
    assert "crm://contacts" in uris(mcp)
    (contents,) = mcp.request("resources/read", {"uri": uri}).result["contents"]
    assert contents["text"] == text


@pytest.mark.django_db
def test_a_resource_of_an_integration_needs_the_scope_of_its_action(grant: Grant) -> None:
    grant.connect("crm", enabled=("find_contact", "create_deal"))
    other = McpClient(grant.token("actions:crm:create_deal"))
    for uri in ("crm://contacts", "crm://people/Bo"):
        assert other.request("resources/read", {"uri": uri}).status == 403


def test_a_customer_that_is_not_there_is_refused_for_a_read_too(mcp: McpClient) -> None:
    params = {"uri": RULES, "_meta": {"bound_email": "a@example.com"}}
    assert mcp.request("resources/read", params).error["data"]["reason"] == "binding_rejected"


@pytest.mark.parametrize("revision", HANDSHAKE, ids=str)
@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
def test_subscribing_to_what_can_be_read_is_accepted_and_not_promised(
    mcp: McpClient, revision: Revision, method: str
) -> None:
    client = mcp.with_revision(revision)
    assert client.request(method, {"uri": RULES}).result == {}
    assert client.request(method, {"uri": "lab://nothing"}).code == -32002
    params = {"protocolVersion": revision.value, "capabilities": {}}
    capabilities = client.request("initialize", params).result["capabilities"]
    assert "subscribe" not in capabilities["resources"]


@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
def test_subscribing_is_gone_at_the_newest_revision(mcp: McpClient, method: str) -> None:
    reply = mcp.with_revision(MODERN).request(method, {"uri": RULES})
    assert (reply.status, reply.code) == (404, -32601)


def test_the_name_header_repeats_the_uri(mcp: McpClient) -> None:
    client = mcp.with_revision(MODERN)
    params = {"uri": RULES}
    wrong = client.request("resources/read", params, headers={"Mcp-Name": "lab://pixel"})
    missing = client.request("resources/read", params, headers={"Mcp-Name": None})
    assert [(one.status, one.code) for one in (wrong, missing)] == [(400, -32020)] * 2


def test_without_its_toolset_a_resource_is_gone(mcp: McpClient) -> None:
    passing = Toolset(scope="docs:read")
    passing.resource(uri="lab://passing", title="A", description="B")(
        lambda _c, _g: ResourceBody("here")
    )
    with registry.including(passing):
        assert read(mcp, "lab://passing") == [{"uri": "lab://passing", "text": "here"}]
    assert mcp.request("resources/read", {"uri": "lab://passing"}).code == -32002
