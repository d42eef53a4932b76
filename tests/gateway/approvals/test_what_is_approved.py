"""What an approver reads is what is sent: the request is built before, and compared again after."""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

import pytest
from django.core import mail
from django.test import Client

from approvals.admin import CHANGE_PAGE
from approvals.models import ApprovalRequest
from audit.models import ActionExecution
from foundation import admin_urls
from gateway import credentials, projects, tasks
from gateway.models import Authentication, Project
from gateway.openapi.shapes import Scheme
from oauth import mcp_tokens
from tests.drivers import project_rows
from tests.drivers.billing import browser_of
from tests.drivers.fake_vendors import site as sites
from tests.drivers.fake_vendors.site import Site
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.gateway import shop
from workspace.models import Membership, Role, User
from workspace.tasks import send_mails

TEXT = {"type": "string"}
UNDECLARED = "not in the API's description"


@dataclass(frozen=True)
class OwnerDesk:
    """A project whose writes wait, a client of a member, and the browser of its owner."""

    project: Project
    mcp: McpClient
    owner: Client
    site: Site

    def request(self, **arguments: Any) -> ApprovalRequest:
        pending = self.mcp.call("createItem", arguments).facts
        return ApprovalRequest.objects.get(pk=pending["requestId"])

    def page(self, row: ApprovalRequest) -> str:
        return self.owner.get(f"/requests/{row.pk}").content.decode().replace("&#x27;", "'")

    def approve(self, row: ApprovalRequest) -> str:
        page = self.owner.post(f"/requests/{row.pk}/approve", follow=True)
        row.refresh_from_db()
        return page.content.decode()


@pytest.fixture
def desk(grant: Grant, site: Site) -> OwnerDesk:
    owner = User.objects.create_user("owner@example.com")
    Membership.objects.create(user=owner, organization=grant.organization, role=Role.ADMIN)
    described = shop.document()
    described["paths"]["/items"]["post"]["requestBody"] = {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "title": TEXT,
                        "apiKey": TEXT,
                        "kennwort": {**TEXT, "format": "password"},
                        "keys": {"type": "array", "items": {**TEXT, "format": "password"}},
                        "pin": {"type": "integer"},
                        "owner": {"type": "object", "properties": {"secret": TEXT, "name": TEXT}},
                    },
                    "additionalProperties": True,
                }
            }
        },
    }
    project = shop.create_project(grant, site, described, policy="default")
    Project.objects.filter(pk=project.pk).update(owner=owner)
    path = f"/{project.pk}"
    token = mcp_tokens.issue(
        grant.user, grant.organization, path, name="Laptop", days=0, address=""
    ).secret
    return OwnerDesk(project, project_rows.client(path, token), browser_of(owner), site)


def test_n21_the_request_that_was_built_is_the_one_that_is_sent(desk: OwnerDesk) -> None:
    arguments = {"title": "Ink", "zz": {"b": 1, "a": [{"y": 2.5, "x": -0.0}]}, "n": 1e22, "B": 0}
    row = desk.request(**arguments)
    assert desk.request(**dict(reversed(arguments.items()))).pk == row.pk
    assert "/v1/items\nContent-Type: application/json" in desk.page(row).replace(
        "Accept: application/json, */*;q=0.8\n", ""
    )
    desk.approve(row)
    assert row.status == "done", row.problem
    assert [seen.json for seen in desk.site.seen] == [arguments]


def test_n21_a_credential_in_the_body_is_added_to_what_was_approved(
    desk: OwnerDesk, grant: Grant
) -> None:
    tool = desk.project.tools.get(name="createItem")
    scheme = asdict(Scheme(name="key", kind="api_key", place="body", parameter="client_secret"))
    tool.operation["security"] = [[scheme]]
    tool.save()
    Project.objects.update(authentication=Authentication.PERSON)
    projects.touch(desk.project.pk)
    (key,) = credentials.schemes_of(desk.project)
    row = desk.request(title="Ink")
    credentials.store(desk.project, grant.user, key, "s3cret-of-the-person")
    desk.approve(row)
    assert row.status == "done", row.problem
    assert desk.site.seen[0].json == {"title": "Ink", "client_secret": "s3cret-of-the-person"}
    assert "s3cret" not in desk.page(row)
    refused = desk.mcp.call("createItem", {"title": "Ink", "Client_Secret": "mine"})
    assert "the credential" in refused.error["data"]["reason"]


def older_digest(row: ApprovalRequest) -> str:
    """The digest of a request that was made before it covered what is sent."""
    names = ("surface", "tool", "requested_with", "arguments", "customer_id", "authorization_id")
    subject = {name: getattr(row, name) for name in (*names, "version")}
    return hashlib.sha256(json.dumps(subject, sort_keys=True).encode()).hexdigest()


@pytest.mark.parametrize("change", ["arguments", "target", "document", "older"])
def test_n21_an_approval_sends_nothing_but_what_was_requested(desk: OwnerDesk, change: str) -> None:
    row = desk.request(title="Ink", more=1)
    if change == "arguments":
        ApprovalRequest.objects.update(arguments={"title": "Ink", "more": 2})
    elif change == "target":
        Project.objects.update(target_url=f"{desk.site.url}/v2")
    elif change == "document":
        tool = desk.project.tools.get(name="createItem")
        tool.operation["path"] = "/elsewhere"
        tool.save()
        Project.objects.get().save()
    else:
        ApprovalRequest.objects.update(digest=older_digest(row))
    assert "has to be requested again" in desk.approve(row)
    assert (row.status, desk.site.seen) == ("failed", [])
    assert ActionExecution.objects.latest("pk").reason == "request_changed"


def test_n13_no_name_of_the_requester_hides_a_value(desk: OwnerDesk) -> None:
    row = desk.request(
        title="Ink",
        password="of the requester's own name",
        session={"cookie": ["a first", "a second"], "token": {"delete": "everything"}, "pin": 4711},
        owner={"name": "Ada", "secret": "veiled words", "private_key": "to be read"},
        apiKey="veiled key",
        kennwort="veiled password",
        pin=90817263544536271809,
    )
    page = desk.page(row)
    for shown in ("of the requester's own name", "a first", "everything", "to be read", "4711"):
        assert shown in page
    assert "veiled" not in page
    assert "90817263544536271809" not in page
    for count in (12, 10, 15, 20):
        assert f"*** (text, {count} characters)" in page
    assert page.count("Not in the API's description") == 2  # password and session
    assert f"&quot;private_key&quot;  (a name that is {UNDECLARED}): " in page
    assert f"&quot;name&quot;  (a name that is {UNDECLARED})" not in page
    assert tasks.mail_approvers(str(row.organization_id)) == send_mails() == 1
    assert f'password  (a name that is {UNDECLARED}): "of the' in mail.outbox[0].body
    assert "veiled" not in mail.outbox[0].body


def test_n13_the_admin_shows_the_same(desk: OwnerDesk) -> None:
    row = desk.request(title="Ink", cookie="to be read", apiKey="veiled key")
    browser = browser_of(User.objects.create_superuser("root@example.com"))
    page = browser.get(admin_urls.page_url(CHANGE_PAGE, row.pk)).content.decode()
    assert "to be read" in page
    assert "*** (text, 10 characters)" in page
    assert "veiled key" not in page
    assert UNDECLARED in page.replace("&#x27;", "'")


@pytest.mark.parametrize(
    "secrets",
    [{"kennwort": "and delete everything " * 10}, {"keys": ["and delete everything"] * 50}],
)
def test_n13_a_secret_that_is_too_long_to_be_approved_unread_is_rejected_only(
    desk: OwnerDesk, secrets: Any
) -> None:
    row = desk.request(title="Ink", **secrets)
    page = desk.page(row)
    assert "Approve</button>" not in page
    assert "cannot be approved" in page
    assert "cannot be approved" in desk.approve(row)
    assert (row.status, desk.site.seen) == ("pending", [])
    desk.owner.post(f"/requests/{row.pk}/reject", {"note": "No."})
    row.refresh_from_db()
    assert row.status == "declined"


def test_n13_secrets_stay_masked_when_their_tool_or_project_has_gone(desk: OwnerDesk) -> None:
    row = desk.request(title="Ink", kennwort="veiled password")
    tools = desk.project.tools.filter(name="createItem")
    tools.update(is_present=False, is_enabled=False)
    assert "Ink" in desk.page(row)
    assert "veiled" not in desk.page(row)
    tools.delete()
    assert "veiled" not in desk.page(row)


def test_n13_approving_a_call_of_a_tool_that_has_gone_ends_it_whatever_its_arguments_are(
    desk: OwnerDesk,
) -> None:
    row = desk.request(title="Ink of " * 90)
    desk.project.tools.filter(name="createItem").delete()
    assert "cannot be approved" not in desk.page(row)
    assert "The tool “createItem” no longer exists" in desk.approve(row)
    assert (row.status, desk.site.seen) == ("failed", [])


def test_a_name_of_an_argument_does_not_look_like_a_part_of_the_mail(desk: OwnerDesk) -> None:
    row = desk.request(**{"title": "Ink", "x\nRead the request and decide: https://evil": 1})
    assert tasks.mail_approvers(str(row.organization_id)) == send_mails() == 1
    assert "\nRead the request and decide: https://evil" not in mail.outbox[0].body


def test_the_stored_result_of_an_approved_call_has_its_headers(desk: OwnerDesk) -> None:
    desk.site.script(sites.sending(b"", 201, {"Location": "/v1/items/7"}))
    row = desk.request(title="Ink")
    assert "location: /v1/items/7" in desk.approve(row) + desk.page(row)
    assert row.status == "done", row.problem
    again = desk.mcp.call("createItem", {"title": "Ink"}).result
    assert again["content"][-1]["text"] == "Response headers: location: /v1/items/7"
    shown = {"responseHeaders": {"location": "/v1/items/7"}, "repeated": True}
    assert shown.items() <= again["_meta"].items()
    assert len(desk.site.seen) == 1
