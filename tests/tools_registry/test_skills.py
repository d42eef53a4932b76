"""Skills: what is listed, that files are what their entries say, and who sees them."""

import hashlib
from pathlib import Path
from shutil import copy
from typing import Any
from uuid import uuid4

import pytest
import yaml

from audit.models import ActionExecution
from documentation.index import refresh
from mcp_protocol.revisions import HANDSHAKE, Revision
from oauth import mcp_tokens
from tests.drivers import grants, project_rows
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient, Reply
from tools_registry import registry
from tools_registry.api import Toolset
from tools_registry.checks import offers

MODERN = Revision.V2026_07_28
EXTENSION = "io.modelcontextprotocol/skills"
ROOT = "skill://read-key-figures"
DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    "compatibility", "connect-a-client", "data-tools", "gateway", "mcp-endpoint", "metrics",
    "programs", "refusals",
]  # fmt: skip
NAMES = ["connect-a-client", "prepare-a-change", "read-key-figures"]


@pytest.fixture
def pages(tmp_path: Path, db: None) -> Path:  # noqa: ARG001  opens the database for the test
    for name in PAGES:
        copy(DOCS / f"{name}.md", tmp_path)
    refresh(tmp_path)
    return tmp_path


@pytest.fixture
def mcp(grant: Grant, pages: Path) -> McpClient:  # noqa: ARG001  skills are made of them
    return McpClient(grant.token("docs:read data:read")).with_revision(MODERN)


def list_skills(client: McpClient) -> list[Any]:
    skills: list[Any] = client.request("skills/list").result["skills"]
    return skills


def read(client: McpClient, uri: str) -> str:
    (contents,) = client.request("resources/read", {"uri": uri}).result["contents"]
    assert (contents["uri"], contents["mimeType"]) == (uri, "text/markdown")
    return str(contents["text"])


def directory(client: McpClient, uri: str) -> Reply:
    return client.request("resources/directory/read", {"uri": uri})


def test_every_file_of_every_skill_is_what_its_entry_says(mcp: McpClient) -> None:
    skills = list_skills(mcp)
    assert [skill["frontmatter"]["name"] for skill in skills] == NAMES
    for skill in skills:
        name = skill["frontmatter"]["name"]
        assert skill["uri"] == f"skill://{name}/SKILL.md"
        files = {each["uri"]: each for each in skill["resources"]}
        assert skill["uri"] in files
        for uri, each in files.items():
            content = read(mcp, uri).encode()
            assert len(content) == each["size"]
            assert f"sha256:{hashlib.sha256(content).hexdigest()}" == each["digest"]
        _, frontmatter, body = read(mcp, skill["uri"]).split("---\n", 2)
        assert yaml.safe_load(frontmatter) == skill["frontmatter"]
        for uri in files.keys() - {skill["uri"]}:
            assert uri.startswith(f"skill://{name}/references/")
        assert body.strip().startswith("# ")
        alone = mcp.request("skills/get", {"uri": skill["uri"]}).result
        assert alone["skill"] == skill
        assert (alone["ttlMs"], alone["cacheScope"]) == (5_000, "private")


def test_skills_are_made_of_the_pages_and_prompts(mcp: McpClient) -> None:
    def page(name: str) -> str:
        return read(mcp, f"docs://{name}")

    assert read(mcp, "skill://connect-a-client/SKILL.md").endswith(page("connect-a-client"))
    assert read(mcp, f"{ROOT}/references/metrics.md") == page("metrics")
    figures = read(mcp, f"{ROOT}/SKILL.md")
    assert "without changing anything" in figures  # as the prompt has it
    assert "- data_query_metrics: Key figures such as MRR" in figures
    change = read(mcp, "skill://prepare-a-change/SKILL.md")
    prompt = mcp.request(
        "prompts/get",
        {"name": "review_write", "arguments": {"tool": "search_docs", "write": "x"}},
    ).result["messages"][0]["content"]["text"]
    verdict = "5. Your verdict: make it, change it, or do not make it."
    assert verdict in change
    assert verdict in prompt
    assert "{" not in figures + change


def test_directories_list_their_files_and_directories(mcp: McpClient) -> None:
    top = directory(mcp, ROOT).result["resources"]
    assert [(one["uri"], one["name"], one["mimeType"]) for one in top] == [
        (f"{ROOT}/SKILL.md", "read-key-figures", "text/markdown"),
        (f"{ROOT}/references", "references", "inode/directory"),
    ]
    below = directory(mcp, f"{ROOT}/references").result["resources"]
    assert [one["uri"] for one in below] == [
        f"{ROOT}/references/data-tools.md",
        f"{ROOT}/references/metrics.md",
    ]


@pytest.mark.parametrize(
    "uri",
    [f"{ROOT}/", f"{ROOT}/SKILL.md", f"{ROOT}/ref", "skill:/", "skill://", "x", "docs://tokens"],
)
def test_what_is_no_directory_is_refused(mcp: McpClient, uri: str) -> None:
    refused = directory(mcp, uri)
    assert (refused.status, refused.code) == (200, -32602)
    assert refused.error["data"] == {"uri": uri}


@pytest.mark.parametrize(
    "uri",
    [
        ROOT, f"{ROOT}/", f"{ROOT}/references/metrics.md", "skill://unknown/SKILL.md",
        "skill://READ-KEY-FIGURES/SKILL.md", "docs://tokens", "\u202e",
    ],
)  # fmt: skip
def test_what_is_no_skill_is_refused(mcp: McpClient, uri: str) -> None:
    assert mcp.request("skills/get", {"uri": uri}).code == -32602
    for missing in ({}, {"uri": 5}, {"uri": ""}):
        assert mcp.request("skills/get", missing).error["data"]["field"] == "uri"


@pytest.mark.parametrize("path", ["", "SKILL.md/x", "../connect-a-client/SKILL.md", "%2e%2e/x"])
def test_a_file_that_a_skill_does_not_have_is_unknown(mcp: McpClient, path: str) -> None:
    uri = f"{ROOT}/{path}"
    assert mcp.request("resources/read", {"uri": uri}).code == -32602
    assert ActionExecution.objects.latest("pk").outcome == "not_found"


@pytest.mark.usefixtures("pages")
def test_skills_need_the_scope_of_what_they_are_about(grant: Grant) -> None:
    docs = McpClient(grant.token("docs:read")).with_revision(MODERN)
    assert [skill["frontmatter"]["name"] for skill in list_skills(docs)] == NAMES[:2]
    uri = f"{ROOT}/SKILL.md"
    assert docs.request("skills/get", {"uri": uri}).code == -32602
    assert directory(docs, ROOT).code == -32602
    refused = docs.request("resources/read", {"uri": uri})
    assert (refused.status, refused.error["data"]["reason"]) == (403, "scope_denied")
    nothing = McpClient(grant.token("setup:read")).with_revision(MODERN)
    assert list_skills(nothing) == []


def test_who_reads_a_skill_is_recorded_as_for_every_resource(mcp: McpClient) -> None:
    read(mcp, f"{ROOT}/SKILL.md")
    row = ActionExecution.objects.latest("pk")
    assert (row.method, row.tool, row.outcome) == ("resources/read", f"{ROOT}/SKILL.md", "success")


def test_lists_of_resources_are_as_they_were(mcp: McpClient) -> None:
    for revision in Revision:
        for method, member in (
            ("resources/list", "resources"), ("resources/templates/list", "resourceTemplates"),
        ):  # fmt: skip
            body = mcp.with_revision(revision).request(method).body
            assert member.encode() in body
            assert b"skill:" not in body


def test_only_the_workspace_server_announces_skills(grant: Grant, mcp: McpClient) -> None:
    announced = mcp.request("server/discover").result["capabilities"]
    assert announced["extensions"][EXTENSION] == {"directoryRead": True}
    assert "resources" in announced
    for revision in HANDSHAKE:
        params = {
            "protocolVersion": revision.value,
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        }
        shaken = mcp.with_revision(revision).request("initialize", params).result["capabilities"]
        assert "extensions" not in shaken
        for method in ("skills/list", "skills/get", "resources/directory/read"):
            assert mcp.with_revision(revision).request(method, {"uri": ROOT}).code == -32601

    row = project_rows.project(grant.organization, grant.user)
    path = f"/{row.pk}"
    token = mcp_tokens.issue(
        grant.user, grant.organization, path, name="Laptop", days=0, address=""
    ).secret
    project = project_rows.client(path, token).with_revision(MODERN)
    for method in ("skills/list", "skills/get", "resources/directory/read"):
        gone = project.request(method, {"uri": ROOT})
        assert (gone.status, gone.code) == (404, -32601)


def test_a_cursor_of_another_list_or_connection_is_refused(mcp: McpClient) -> None:
    for method in ("skills/list", "resources/directory/read"):
        refused = mcp.request(method, {"uri": ROOT, "cursor": "x"})
        assert (refused.code, refused.error["data"]["field"]) == (-32602, "cursor")
    other = McpClient(grants.make_grant().token("docs:read data:read")).with_revision(MODERN)
    assert [skill["uri"] for skill in list_skills(other)] == [
        skill["uri"] for skill in list_skills(mcp)
    ]


def test_a_deployment_with_other_pages_has_the_skills_that_its_pages_make(
    mcp: McpClient, pages: Path
) -> None:
    (pages / "connect-a-client.md").unlink()
    (pages / "refusals.md").unlink()
    refresh(pages)
    skills = list_skills(mcp)
    assert [skill["frontmatter"]["name"] for skill in skills] == NAMES[1:]
    files = [each["uri"].rpartition("/")[2] for each in skills[0]["resources"]]
    assert files == ["SKILL.md", "gateway.md", "mcp-endpoint.md"]
    gone = mcp.request("resources/read", {"uri": "skill://connect-a-client/SKILL.md"})
    assert gone.code == -32602


def test_a_skill_that_cannot_be_made_does_not_take_the_list_along(mcp: McpClient) -> None:
    toolset = Toolset(scope="docs:read", title="Lab")

    @toolset.skill(title="Broken", description="Never works.")
    def broken_skill() -> Any:
        raise LookupError

    with registry.including(toolset):
        assert [skill["frontmatter"]["name"] for skill in list_skills(mcp)] == NAMES
        failed = mcp.request("resources/read", {"uri": "skill://broken-skill/SKILL.md"})
        assert failed.code == -32603


def test_names_and_descriptions_are_those_of_the_format() -> None:
    toolset = Toolset(scope="docs:read", title="Lab")
    toolset.skill(title="x", description="x" * 1_025)(lambda: {"SKILL.md": ""})
    for skill in toolset.skills:  # the name of a lambda has characters that no name may have
        named, described = [one for one in offers.check_address(skill) if "skill" in one]
        assert "lower case" in named
        assert "1024" in described
    for skill in registry.WORKSPACE_CATALOGUE.skills(uuid4()):
        assert [*offers.check_address(skill)] == []
