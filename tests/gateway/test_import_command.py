"""`manage.py gateway import`: a project and a token, for programs and for people."""

import json
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.core.management import CommandError, call_command

from gateway.models import Effect, Project
from gateway.openapi import process
from oauth.models import McpToken
from tests.drivers import grants
from tests.drivers.fake_vendors import site as sites
from tests.drivers.fake_vendors.site import Site
from tests.drivers.grants import Grant
from tests.gateway import shop
from workspace.models import Membership, Role, User


def import_document(grant: Grant, document: object, *more: str) -> str:
    out = StringIO()
    target = ("--target", "https://api.example/v1")
    slug = grant.organization.slug
    given = (str(document), "--organization", slug, *target, *more)
    call_command("gateway", "import", *given, stdout=out)
    return out.getvalue()


def test_it_prints_what_a_program_needs_to_connect(grant: Grant, tmp_path: Path) -> None:
    path = tmp_path / "shop.json"
    described = shop.document()
    described["paths"]["/items"]["trace"] = {"operationId": "trace", "responses": {}}
    path.write_text(json.dumps(described))
    found: Any = json.loads(import_document(grant, path, "--policy", "allow", "--json"))
    project = Project.objects.get()
    assert found["project_id"] == project.pk
    assert found["mcp_url"].endswith(f"/{project.pk}")
    assert found["token"].startswith("halo_mt_")
    assert {"name": "getItem", "method": "GET", "path": "/items/{id}"} in found["tools"]
    assert len(found["tools"]) == 3
    assert project.writes == Effect.ALLOW
    assert project.owner == grant.user
    assert McpToken.objects.get().resource_path == f"/{project.pk}"


def test_the_document_is_read_once(grant: Grant, tmp_path: Path) -> None:
    path = tmp_path / "shop.json"
    path.write_text(shop.text())
    with patch.object(process, "read", wraps=process.read) as read:
        import_document(grant, path)
    assert read.call_count == 1


def test_people_read_the_address_and_the_token(grant: Grant, site: Site) -> None:
    site.script(sites.saying(shop.document()))
    text = import_document(
        grant, f"{site.url}/openapi.json", "--name", "Mine", "--reads", "create*"
    )
    assert "Mine: 3 tools" in text
    assert "MCP address: http" in text
    project = Project.objects.get()
    assert project.document_url == f"{site.url}/openapi.json"
    assert project.writes == Effect.REQUIRE_APPROVAL
    assert project.tools.get(name="createItem").is_read


def test_who_imports_alone_reads_that_nobody_can_approve_their_requests(
    grant: Grant, tmp_path: Path
) -> None:
    path = tmp_path / "shop.json"
    path.write_text(shop.text())
    text = import_document(grant, path, "--name", "Usual")
    project = Project.objects.get()
    assert not project.self_approval
    assert f"what {grant.user.email} requests cannot be approved" in text
    assert "--self-approval" in text
    assert f"/projects/{project.pk}/policy" in text
    found: Any = json.loads(import_document(grant, path, "--name", "Json", "--json"))
    assert "cannot be approved" in found["warnings"][0]
    own: Any = json.loads(
        import_document(grant, path, "--name", "Own", "--self-approval", "--json")
    )
    assert Project.objects.get(name="Own").self_approval
    assert own["warnings"] == []
    assert "approve" not in import_document(grant, path, "--name", "Open", "--policy", "allow")


def test_an_import_says_nothing_of_approvers_where_another_admin_can_approve(
    grant: Grant, tmp_path: Path
) -> None:
    other = User.objects.create_user("other@example.com")
    Membership.objects.create(user=other, organization=grant.organization, role=Role.ADMIN)
    path = tmp_path / "shop.json"
    path.write_text(shop.text())
    assert "approve" not in import_document(grant, path, "--user", grant.user.email)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--user", "nobody@example.com"), "is not a member"),
        (("--target", "http://10.1.2.3"), "Calls cannot go to this URL"),
        (("--organization", "none"), "There is no organization"),
    ],
)
def test_what_cannot_be_imported_is_an_error(
    grant: Grant, tmp_path: Path, more: tuple[str, ...], message: str
) -> None:
    path = tmp_path / "shop.json"
    path.write_text(shop.text())
    with pytest.raises(CommandError, match=message):
        import_document(grant, path, *more)
    with pytest.raises(CommandError, match="cannot be read"):
        import_document(grant, tmp_path / "missing.json")
    stranger = grants.make_grant()
    assert not Project.objects.filter(organization=stranger.organization).exists()
