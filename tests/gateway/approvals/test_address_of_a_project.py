"""Approvals at the real address of a project, with an MCP token."""

from django.test import Client

from audit.models import ActionExecution
from mcp_protocol.revisions import Revision
from oauth import mcp_tokens
from tests.drivers import project_rows
from tests.drivers.billing import browser_of
from tests.drivers.grants import Grant
from workspace.models import Membership, Role, User


def test_a_write_waits_and_its_token_reads_the_decision(grant: Grant) -> None:
    owner = User.objects.create_user("owner@example.com")
    Membership.objects.create(user=owner, organization=grant.organization, role=Role.ADMIN)
    project = project_rows.project(grant.organization, owner)
    path = f"/{project.pk}"
    token = mcp_tokens.issue(
        grant.user, grant.organization, path, name="Laptop", days=0, address=""
    ).secret
    mcp = project_rows.client(path, token).with_revision(Revision.V2024_11_05)

    pending = mcp.call("delete_user", {"id": "a/b"}).facts

    assert pending["status"] == "PENDING_APPROVAL"
    assert ActionExecution.objects.latest("pk").surface == f"gateway:{project.pk}"
    url, bearer = f"/requests/{pending['requestId']}", {"Authorization": f"Bearer {token}"}
    assert Client().get(url, headers=bearer).json()["status"] == "PENDING_APPROVAL"
    page = browser_of(owner).get(url).content.decode()
    assert "DELETE http://127.0.0.1:9/users/" in page
    assert "a/b" in page
    browser_of(owner).post(f"{url}/reject", {"note": "Keep it."})
    assert Client().get(url, headers=bearer).json()["reason"] == "Keep it."
    assert "Keep it." in mcp.call("delete_user", {"id": "a/b"}).error["message"]
    mcp_tokens.revoke(mcp_tokens.list_project_tokens(grant.user).get(), user=grant.user, address="")
    assert Client().get(url, headers=bearer).status_code == 401
