"""Values that a document declares as secrets stand in clear in nothing that others read."""

import json
from typing import Any
from unittest.mock import patch
from urllib.parse import quote

import pytest
from django.test import Client as Http

from approvals.models import ApprovalRequest
from audit.models import ActionExecution, SecurityEvent
from foundation import masking
from foundation.admin_urls import row_url
from gateway.models import Project
from oauth import mcp_tokens
from tests.drivers import project_rows
from tests.drivers.billing import browser_of
from tests.drivers.fake_vendors import site as sites
from tests.drivers.fake_vendors.site import Site
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient, Reply
from tests.gateway import shop
from workspace import flags
from workspace.models import FeatureFlag, User

TEXT = {"type": "string"}
SECRET = "Veiled-7391-wörds"
# Where a document may declare a secret.
ACCOUNT = {
    "type": "object",
    "properties": {
        "login": TEXT,
        "phrase": {**TEXT, "format": "password", "maxLength": 40},
        "recovery": {"type": "array", "items": {**TEXT, "writeOnly": True}},
        "vault": {
            "type": "object",
            "writeOnly": True,
            "properties": {"label": TEXT, "parts": {"type": "array", "items": TEXT}},
        },
        "owner": {"$ref": "#/components/schemas/Owner"},
        "limit": {"type": "integer"},
        "door": {"type": "integer", "writeOnly": True, "maximum": 9_999_999},
        "either": {"oneOf": [{"$ref": "#/components/schemas/Owner"}, {"type": "boolean"}]},
    },
    "additionalProperties": False,
}
OWNER = {
    "type": "object",
    "properties": {"name": TEXT, "word": {**TEXT, "format": "password"}},
    "additionalProperties": False,
}
PLACES: dict[str, dict[str, Any]] = {
    "password": {"phrase": SECRET},
    "items": {"recovery": [SECRET]},
    "inside-of-write-only": {"vault": {"label": SECRET, "parts": [SECRET]}},
    "reference": {"owner": {"name": "Ada", "word": SECRET}},
    "alternative": {"either": {"name": "Ada", "word": SECRET}},
    "json-as-text": {"owner": json.dumps({"name": "Ada", "word": SECRET}, ensure_ascii=False)},
}
WRONG: dict[str, dict[str, Any]] = {
    "too-long": {"phrase": SECRET * 3},
    "next-to-it": {"phrase": SECRET, "limit": "ten"},
    "around-it": {"owner": {"word": SECRET, "more": 1}},
    "no-alternative": {"either": {"word": SECRET, "more": 1}},
    "no-object": {"owner": f'{{"word": "{SECRET}", '},
    "another-type": {"recovery": SECRET, "limit": 1.5},
}


@pytest.fixture
def project(grant: Grant, site: Site) -> Project:
    described = shop.document(components={"schemas": {"Owner": OWNER}})
    described["paths"]["/items"]["post"]["requestBody"] = {
        "content": {"application/json": {"schema": ACCOUNT}}
    }
    described["paths"]["/items"]["get"]["parameters"] = [
        {"name": "key", "in": "query", "schema": {**TEXT, "format": "password"}}
    ]
    return shop.create_project(grant, site, described)


@pytest.fixture
def mcp(grant: Grant, project: Project) -> McpClient:
    path = f"/{project.pk}"
    token = mcp_tokens.issue(grant.user, grant.organization, path, name="x", days=0, address="")
    return project_rows.client(path, token.secret)


def on_record() -> str:
    rows = [*ActionExecution.objects.values_list(), *SecurityEvent.objects.values_list()]
    return str(rows)


def has_secret(text: str) -> bool:
    escaped = json.dumps(SECRET)[1:-1]
    return SECRET in text or escaped in text or escaped.replace("\\", "\\\\") in text


@pytest.mark.parametrize("arguments", PLACES.values(), ids=PLACES)
def test_the_audit_row_of_a_call_has_no_secret(
    mcp: McpClient, site: Site, arguments: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    mcp.call("createItem", {"login": "ada", **arguments})
    assert has_secret(site.seen[0].body.decode())
    assert not has_secret(on_record() + caplog.text)
    row = ActionExecution.objects.latest("pk")
    assert (row.arguments["login"], row.outcome) == ("ada", "success")
    assert f"*** (text, {len(SECRET)} characters)" in str(row.arguments)
    root = browser_of(User.objects.create_superuser("root@example.com"))
    assert not has_secret(root.get(row_url(row)).content.decode())


@pytest.mark.parametrize("given", [5_739_146, "5739146"], ids=["number", "text"])
def test_a_number_that_is_a_secret_is_masked(mcp: McpClient, site: Site, given: Any) -> None:
    assert not mcp.call("createItem", {"login": "ada", "door": given}).result["isError"]
    assert site.seen[0].json["door"] == 5_739_146
    assert "5739146" not in on_record()
    refused = mcp.call("createItem", {"login": "ada", "door": 57_391_460})
    assert refused.code == -32602
    assert "57391460" not in on_record() + refused.body.decode()


def test_a_missing_argument_is_named_next_to_a_secret(mcp: McpClient) -> None:
    refused = mcp.call("createItem", {"owner": {"word": SECRET}, "surplus": 1})
    assert "surplus" in refused.error["data"]["reason"]
    assert not has_secret(on_record() + refused.body.decode())


@pytest.mark.parametrize("arguments", WRONG.values(), ids=WRONG)
def test_a_refusal_of_arguments_has_no_secret(
    mcp: McpClient, site: Site, arguments: dict[str, Any]
) -> None:
    refused: Reply = mcp.call("createItem", arguments)
    assert refused.code == -32602
    assert refused.error["data"]["reason"]
    assert not has_secret(on_record() + refused.body.decode())
    assert site.seen == []


def test_an_unknown_tool_keeps_no_text(mcp: McpClient) -> None:
    mcp.call("createItm", {"phrase": SECRET, "limit": 5})
    row = ActionExecution.objects.latest("pk")
    assert row.arguments == {"phrase": f"*** (text, {len(SECRET)} characters)", "limit": 5}


def test_a_call_that_is_refused_before_its_tool_is_found_keeps_no_text(
    mcp: McpClient, grant: Grant
) -> None:
    FeatureFlag.objects.update_or_create(
        organization=grant.organization, name=flags.MCP_SERVER, defaults={"enabled": False}
    )
    assert mcp.call("createItem", {"phrase": SECRET}).error["data"]["reason"] == "feature_disabled"
    assert not has_secret(on_record())


@pytest.mark.parametrize("status", [400, 422, 500])
def test_an_api_that_repeats_a_secret_in_an_error_does_not_put_it_on_record(
    mcp: McpClient, site: Site, status: int
) -> None:
    site.script(sites.saying({"message": f"{SECRET} was leaked before"}, status))
    failed = mcp.call("createItem", {"phrase": SECRET})
    assert "was leaked before" in failed.body.decode()
    site.script(sites.sending(b"", 302, {"Location": "https://x.example/?a=" + "Veiled-7391"}))
    mcp.call("listItems", {"key": "Veiled-7391"})
    assert not has_secret(failed.body.decode() + on_record())
    assert "Veiled-7391" not in on_record()


@pytest.mark.parametrize("arguments", PLACES.values(), ids=PLACES)
def test_the_page_of_a_request_has_no_secret_before_and_after_it_is_executed(
    mcp: McpClient, site: Site, grant: Grant, project: Project, arguments: dict[str, Any]
) -> None:
    Project.objects.filter(pk=project.pk).update(writes="require_approval", self_approval=True)
    pending = mcp.call("createItem", {"login": "ada", **arguments})
    row = ApprovalRequest.objects.get()
    browser = Http()
    browser.force_login(grant.user)
    before = browser.get(f"/requests/{row.pk}").content.decode()
    in_url = quote(SECRET, safe="")
    site.script(sites.saying({"made": SECRET, "login": "ada", "at": f"/vaults?word={in_url}"}))
    browser.post(f"/requests/{row.pk}/approve")
    row.refresh_from_db()
    assert row.status == "done", row.problem
    assert has_secret(site.seen[0].body.decode())
    after = browser.get(f"/requests/{row.pk}").content.decode()
    root = browser_of(User.objects.create_superuser("root@example.com"))
    pages = before + after + root.get(row_url(row)).content.decode()
    pages += browser.get("/requests").content.decode() + pending.body.decode()
    json_form = {"Accept": "application/json"}
    pages += browser.get(f"/requests/{row.pk}", headers=json_form).content.decode()
    project.tools.all().delete()  # without a schema, every text counts as a secret
    pages += browser.get(f"/requests/{row.pk}").content.decode()
    assert "***" in before
    assert not has_secret(pages + on_record())
    assert in_url not in pages + on_record()


def test_a_result_of_many_texts_is_searched_once_for_secrets(
    mcp: McpClient, site: Site, grant: Grant, project: Project
) -> None:
    Project.objects.filter(pk=project.pk).update(writes="require_approval", self_approval=True)
    mcp.call("createItem", {"login": "ada", "recovery": [SECRET, "Hidden/4711", "Unrepeated"]})
    row = ApprovalRequest.objects.get()
    browser = browser_of(grant.user)
    texts = [f"made {SECRET}", quote("Hidden/4711", safe=""), "plain"]
    site.script(sites.saying({"made": texts * 5, "inner": {"login": "ada"}}))
    browser.post(f"/requests/{row.pk}/approve")
    with patch.object(masking, "replace_secrets", wraps=masking.replace_secrets) as replace:
        page = browser.get(f"/requests/{row.pk}").content.decode()
    assert replace.call_count == 1
    assert page.count("made ***") == 5
    assert not has_secret(page)
    assert "4711" not in page
    assert "plain" in page


@pytest.mark.parametrize("strings", [1, 2])
def test_a_secret_is_masked_in_json_that_is_a_string_of_a_result(
    mcp: McpClient, site: Site, grant: Grant, project: Project, strings: int
) -> None:
    Project.objects.filter(pk=project.pk).update(writes="require_approval", self_approval=True)
    secret = r'Veiled "7391"\w/örds'
    mcp.call("createItem", {"phrase": secret})
    row = ApprovalRequest.objects.get()
    browser = browser_of(grant.user)
    repeated = [secret]
    for _ in range(strings):
        written = [(one, is_ascii) for one in repeated for is_ascii in (True, False)]
        repeated = [json.dumps({"word": one}, ensure_ascii=is_ascii) for one, is_ascii in written]
    site.script(sites.saying({"made": repeated, "login": "ada"}))
    browser.post(f"/requests/{row.pk}/approve")
    row.refresh_from_db()
    assert "Veiled" in json.dumps(row.result)
    page = browser.get(f"/requests/{row.pk}").content.decode()
    page += browser.get(
        f"/requests/{row.pk}", headers={"Accept": "application/json"}
    ).content.decode()
    assert "***" in page
    assert "ada" in page
    assert "Veiled" not in page
