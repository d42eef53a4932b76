"""Paths and operations with servers of their own: calls go there, once an admin confirmed them."""

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.core.management import CommandError, call_command
from django.test import Client as Http

from approvals.models import ApprovalRequest
from audit.models import ActionExecution, SecurityEvent
from gateway import credentials, projects, servers
from gateway.models import Project
from oauth import mcp_tokens
from tests.drivers import project_rows
from tests.drivers.fake_vendors.site import Site, serving
from tests.drivers.grants import Grant
from tests.drivers.shown_forms import forms_of, save
from tests.gateway import shop
from tests.gateway.test_project_pages import browser_of, start_project, text_of
from tools_registry.vendors.slots import Slots

BEARER = {"type": "http", "scheme": "bearer"}


@pytest.fixture
def files() -> Iterator[Site]:
    """Another server, for files."""
    with serving(Site()) as running:
        yield running


@pytest.fixture
def admin(grant: Grant) -> Http:
    return browser_of(grant.user)


def with_server(*servers: Any, secure: bool = False, on: str = "operation") -> dict[str, Any]:
    """The shop, whose `createItem` has servers: its own, or those of its path."""
    described = shop.secured_document(BEARER) if secure else shop.document()
    path = described["paths"]["/items"]
    if on == "path":
        described["paths"]["/uploads"] = {"post": path.pop("post"), "servers": [*servers]}
    else:
        path["post"]["servers"] = [*servers]
    return described


def confirm(admin: Http, project: Project, **given: Any) -> Any:
    page = f"/projects/{project.pk}/servers"
    (form,) = (one for one in forms_of(admin, page) if one.action == page)
    return admin.post(page, {**form.fields, "confirmed_0": "on", **given}, follow=True)


@pytest.mark.parametrize("on", ["path", "operation"])
def test_a_server_at_another_address_is_used_once_an_admin_confirmed_it(
    grant: Grant, admin: Http, site: Site, files: Site, on: str
) -> None:
    host = files.url.removeprefix("http://")
    variables = {"area": {"default": "eu", "enum": ["us", "eu"]}, "host": {"default": host}}
    declared = {"url": "http://{host}/{area}/files/", "variables": variables}
    described = with_server(declared, on=on)
    described["servers"] = [{"url": f"{site.url}/v1"}]
    shown = text_of(admin.get(start_project(admin, grant, described)))
    assert f"<code>{files.url}/eu/files</code>: createItem" in shown
    project = shop.create_project(grant, site, described)
    path = "/uploads" if on == "path" else "/items"
    with shop.endpoint(grant, project) as mcp:
        assert mcp.tool_names() == ["getItem", "listItems"]
        refused = mcp.call("createItem", {"title": "Ink"}).error
        assert refused["data"] == {"reason": "server_not_confirmed", "layer": "tool"}
        assert ActionExecution.objects.latest("pk").reason == "server_not_confirmed"
        home = text_of(admin.get(f"/projects/{project.pk}"))
        assert f"1 tool goes to {files.url}/eu/files and cannot be called" in home
        assert files.seen == site.seen == []
        assert "Saved." in text_of(confirm(admin, project))
        mcp.call("createItem", {"title": "Ink"})
        mcp.call("listItems", {})
    assert [(seen.method, seen.path) for seen in files.seen] == [("POST", f"/eu/files{path}")]
    assert [seen.path for seen in site.seen] == ["/v1/items"]
    assert "cannot be called" not in text_of(admin.get(f"/projects/{project.pk}"))
    event = SecurityEvent.objects.get(kind="project_changed")
    assert f"{files.url}/eu/files" in event.detail


def test_an_admin_enters_the_server_of_their_region(
    grant: Grant, admin: Http, site: Site, files: Site
) -> None:
    project = shop.create_project(
        grant, site, with_server({"url": "https://{region}.files.example"})
    )
    unknown = confirm(admin, project)
    assert unknown.status_code == 400
    assert "Calls cannot go to this URL" in text_of(unknown)
    confirm(admin, project, url_0=f"{files.url}/mine/")
    with shop.endpoint(grant, project) as mcp:
        mcp.call("createItem", {"title": "Ink"})
        confirm(admin, project, confirmed_0=[])
        assert mcp.call("createItem", {"title": "Ink"}).error["data"]["layer"] == "tool"
    assert [seen.path for seen in files.seen] == ["/mine/items"]
    assert site.seen == []


@pytest.mark.parametrize(
    ("declared", "sent_to"),
    [
        ("/upload/v2", "/upload/v2/items"),
        ("/", "/items"),
        ("../upload", "/upload/items"),
        ("{site}/other", "/other/items"),
    ],
)
def test_a_server_at_the_same_address_needs_no_confirmation(
    grant: Grant, site: Site, declared: str, sent_to: str
) -> None:
    described = with_server({"url": declared.replace("{site}", site.url.upper())})
    described["paths"]["/items"]["post"]["servers"][0]["url"] = declared.replace("{site}", site.url)
    with shop.endpoint(grant, shop.create_project(grant, site, described)) as mcp:
        mcp.call("createItem", {"title": "Ink"})
    assert [seen.path for seen in site.seen] == [sent_to]


def test_a_server_of_the_document_is_what_the_target_url_stands_for(
    grant: Grant, site: Site
) -> None:
    described = with_server({"url": "https://eu.shop.example"}, {"url": "https://shop.example/v1/"})
    with shop.endpoint(grant, shop.create_project(grant, site, described)) as mcp:
        mcp.call("createItem", {"title": "Ink"})
    assert [seen.path for seen in site.seen] == ["/v1/items"]


@pytest.mark.parametrize("declared", ["//{host}/x", "http://{host}", "http://shop@{host}/v1"])
def test_no_spelling_makes_another_address_the_same(
    grant: Grant, site: Site, files: Site, declared: str
) -> None:
    url = declared.replace("{host}", files.url.removeprefix("http://"))
    with shop.endpoint(grant, shop.create_project(grant, site, with_server({"url": url}))) as mcp:
        assert "createItem" not in mcp.tool_names()
        assert mcp.call("createItem", {"title": "Ink"}).error["data"]["layer"] == "tool"
    assert files.seen == site.seen == []


def test_a_credential_goes_only_to_addresses_that_were_confirmed_when_it_was_entered(
    grant: Grant, admin: Http, site: Site, files: Site
) -> None:
    project = shop.create_project(grant, site, with_server({"url": files.url}, secure=True))
    (scheme,) = credentials.schemes_of(project)
    credentials.store(project, grant.user, scheme, "entered-before")
    confirm(admin, project)
    project.refresh_from_db()
    with shop.endpoint(grant, project) as mcp:
        missing = mcp.call("createItem", {"title": "Ink"}).result
        assert "needs a credential" in missing["content"][0]["text"]
        assert files.seen == []
        page = text_of(admin.get(f"/projects/{project.pk}/credentials"))
        assert f"sent to {site.url}/v1, {files.url} only" in page
        mcp.call("listItems", {})
        credentials.store(project, grant.user, scheme, "entered-after")
        mcp.call("createItem", {"title": "Ink"})
        mcp.call("listItems", {})
        # Not where an admin moves the server later.
        confirm(admin, project, url_0="https://files.example")
        missing = mcp.call("createItem", {"title": "Pen"}).result
        assert "needs a credential" in missing["content"][0]["text"]
    sent = [seen.headers["authorization"] for seen in (*files.seen, *site.seen)]
    assert sent == ["Bearer entered-after", "Bearer entered-before", "Bearer entered-after"]


def test_the_target_url_is_parsed_once_for_the_servers_of_all_operations(
    grant: Grant, admin: Http, site: Site, files: Site
) -> None:
    described = with_server({"url": files.url})
    for number in range(20):
        get = {"operationId": f"part{number}", "responses": {}}
        servers_of_path = [{"url": f"/area{number}"}]
        described["paths"][f"/parts/{number}"] = {"servers": servers_of_path, "get": get}
    project = shop.create_project(grant, site, described)
    with patch.object(servers, "origin", wraps=servers.origin) as parse:
        page = text_of(admin.get(f"/projects/{project.pk}/servers"))
    assert f"<code>{files.url}</code>" in page
    assert "part1" not in page
    assert [call.args[0] for call in parse.call_args_list].count(project.target_url) == 1


def test_private_hosts_and_limits_are_those_of_the_server(
    grant: Grant, admin: Http, site: Site, files: Site, settings: Any
) -> None:
    project = shop.create_project(grant, site, with_server({"url": files.url}))
    confirm(admin, project)
    taken = patch.object(Slots, "acquire", autospec=True, side_effect=Slots.acquire)
    with shop.endpoint(grant, project) as mcp, taken as acquire:
        mcp.call("createItem", {"title": "Ink"})
        mcp.call("listItems", {})
        assert [each.args[1].origin for each in acquire.call_args_list] == [files.url, site.url]
        host = site.url.removeprefix("http://")
        settings.HALO_GATEWAY_PRIVATE_HOSTS = frozenset({host})
        text = mcp.call("createItem", {"title": "Ink"}).result["content"][0]["text"]
        assert "gave no answer" in text
        mcp.call("listItems", {})
    assert (len(files.seen), len(site.seen)) == (1, 2)
    page = confirm(admin, project, url_0="http://10.1.2.3")
    assert page.status_code == 400
    assert "Calls cannot go to this URL" in text_of(page)


def test_an_approval_is_of_a_call_to_the_server_that_was_shown(
    grant: Grant, admin: Http, site: Site, files: Site
) -> None:
    project = shop.create_project(grant, site, with_server({"url": files.url}), policy="default")
    projects.change(project, grant.user, servers={files.url: f"{files.url}/a"})
    Project.objects.update(self_approval=True)
    path = f"/{project.pk}"
    token = mcp_tokens.issue(grant.user, grant.organization, path, name="x", days=0, address="")
    client = project_rows.client(path, token.secret)
    rows = []
    for title in ("Ink", "Pen"):
        pending = client.call("createItem", {"title": title}).facts
        rows.append(ApprovalRequest.objects.get(pk=pending["requestId"]))
    page = text_of(admin.get(f"/requests/{rows[0].pk}"))
    assert f"POST {files.url}/a/items" in page
    admin.post(f"/requests/{rows[0].pk}/approve")
    confirm(admin, project, url_0=f"{files.url}/b")
    admin.post(f"/requests/{rows[1].pk}/approve")
    for row in rows:
        row.refresh_from_db()
    assert [row.status for row in rows] == ["done", "failed"]
    assert [seen.path for seen in files.seen] == ["/a/items"]


def test_a_tool_that_an_import_sends_elsewhere_waits_for_a_review_and_a_confirmation(
    grant: Grant, admin: Http, site: Site, files: Site
) -> None:
    project = shop.create_project(grant, site)
    described = with_server({"url": files.url})
    address = start_project(admin, grant, described, project=project.pk)
    shown = text_of(admin.get(address))
    assert f"Calls go to {files.url}. They went to the target URL." in shown
    save(admin, address, {})
    row = project.tools.get(name="createItem")
    assert row.needs_review
    with shop.endpoint(grant, project) as mcp:
        for reason in ("tool_changed", "server_not_confirmed"):
            assert mcp.call("createItem", {"title": "Ink"}).error["data"]["reason"] == reason
            ids = [one.pk for one in project.tools.all()]
            form = {"shown": ids, "enabled": ids, "reviewed": [f"{row.pk}:{row.fingerprint}"]}
            save(admin, f"/projects/{project.pk}", form, to=f"/projects/{project.pk}/tools")
    assert files.seen == site.seen == []


def test_a_form_that_was_opened_before_another_change_confirms_nothing(
    grant: Grant, admin: Http, site: Site, files: Site
) -> None:
    project = shop.create_project(grant, site, with_server({"url": files.url}))
    page = f"/projects/{project.pk}/servers"
    (old,) = (one for one in forms_of(admin, page) if one.action == page)
    confirm(admin, project, url_0=f"{files.url}/first")
    late = {**old.fields, "url_0": f"{files.url}/second", "confirmed_0": "on"}
    assert admin.post(page, late).status_code == 409
    assert [*Project.objects.get().servers.values()] == [f"{files.url}/first"]


def test_the_command_confirms_servers_and_names_the_others(
    grant: Grant, site: Site, files: Site, tmp_path: Path
) -> None:
    path = tmp_path / "shop.json"
    path.write_text(json.dumps(with_server({"url": f"{files.url}/"})))
    given = ("gateway", "import", str(path), "--target", site.url)
    given += ("--organization", grant.organization.slug)
    call_command(*given, "--name", "First", stdout=(out := StringIO()))
    assert f"not confirmed: {files.url}, for createItem" in out.getvalue()
    with pytest.raises(CommandError, match="Calls cannot go to this URL"):
        call_command(*given, "--name", "Second", "--confirm-server", "http://10.1.2.3")
    confirmed = ("--confirm-server", f"{files.url}/", "--json")
    call_command(*given, "--name", "Third", *confirmed, stdout=(out := StringIO()))
    assert json.loads(out.getvalue())["unconfirmed_servers"] == []
    assert Project.objects.get(name="Third").servers == {files.url: files.url}


def test_a_stored_tool_has_the_members_that_the_version_before_reads(
    grant: Grant, site: Site
) -> None:
    project = shop.create_project(grant, site, with_server({"url": f"{site.url}/files"}))
    stored = {tool.name: tool.operation for tool in project.tools.all()}
    assert stored["createItem"]["servers"] == [f"{site.url}/files"]
    assert stored["listItems"]["servers"] == []
