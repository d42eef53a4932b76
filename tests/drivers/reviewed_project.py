"""A project with three tools in memory, whose calls are reviewed by its policy."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

from django.test import Client

from approvals.models import ApprovalRequest
from gateway import review
from gateway.models import PolicyRule, Project, ProjectTool
from gateway.openapi.shapes import BodyField, OpenApiOperation, OperationBody, as_json
from gateway.policies import PROJECT_SURFACES
from halo_mcp.asgi import Application
from oauth import credentials
from tests.drivers.asgi import app_transport, application
from tests.drivers.billing import browser_of
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tools_registry.api import Blocks, Result, Tool, ToolContext, Toolset
from tools_registry.endpoint.surface import WORKSPACE_SURFACE, McpSurface
from tools_registry.pipeline import gate, surfaces
from tools_registry.registry import Catalogue, ToolsetSource
from workspace.models import Membership, Role, User

PATH = "/project"
USER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "amount": {"type": "number"},
        "password": {"type": "string"},
        "address": {"type": "object"},
    },
    "required": ["name"],
    "additionalProperties": False,
}
READ, WRITE, REMOVE = "list_users", "create_user", "delete_user"


@dataclass
class ReviewedProject:
    """The project, its MCP client, and what its API was made to do."""

    grant: Grant
    row: Project
    mcp: McpClient
    surface: McpSurface
    executed: list[dict[str, Any]] = field(default_factory=list)
    failure: Exception | None = None

    def call(self, tool: str = WRITE, **arguments: Any) -> Any:
        return self.mcp.call(tool, arguments or {"name": "Ada"})

    def request(self, tool: str = WRITE, **arguments: Any) -> ApprovalRequest:
        """The request that a call waits for."""
        pending = self.call(tool, **arguments).facts
        assert pending["status"] == "PENDING_APPROVAL"
        return ApprovalRequest.objects.get(pk=pending["requestId"])

    def rule(self, pattern: str, effect: str, *conditions: Any, **facts: Any) -> PolicyRule:
        return PolicyRule.objects.create(
            project=self.row,
            position=PolicyRule.objects.count(),
            pattern=pattern,
            effect=effect,
            conditions=[
                {"pointer": pointer, "operator": operator, "value": value}
                for pointer, operator, value in conditions
            ],
            **facts,
        )

    def member(self, name: str, role: Role = Role.MEMBER) -> User:
        user = User.objects.create_user(f"{name}@example.com", "a password of theirs")
        Membership.objects.create(user=user, organization=self.grant.organization, role=role)
        return user

    def owner(self) -> Client:
        """The browser of the project's owner, who decides what no rule names approvers for."""
        assert self.row.owner is not None
        return browser_of(self.row.owner)


@contextmanager
def open_reviewed_project(grant: Grant) -> Iterator[ReviewedProject]:
    """A project of the grant's organization, owned by another admin, at a path of its own."""
    owner = User.objects.create_user(f"owner-{grant.user.email}")
    Membership.objects.create(user=owner, organization=grant.organization, role=Role.ADMIN)
    row = Project.objects.create(
        organization=grant.organization,
        name="Users",
        owner=owner,
        target_url="https://api.example/v1",
    )
    for name in (READ, WRITE, REMOVE):
        ProjectTool.objects.create(
            project=row, name=name, key=name, operation=as_json(_operation(name)),
            fingerprint="", is_read=name == READ,
        )  # fmt: skip
    project = ReviewedProject(grant, row, McpClient(grant.token()), WORKSPACE_SURFACE)
    source = ToolsetSource([_toolset(project)])
    project.surface = replace(
        WORKSPACE_SURFACE,
        name=PROJECT_SURFACES.name_of(row.pk),
        credentials=credentials.ACCESS_TOKEN_VERIFIERS,
        catalogue=Catalogue(lambda: [source]),
        layers={"scope": gate.DEFAULT_LAYERS["scope"]},
        approvable=frozenset(),
        review=review.review,
    )
    families = {PROJECT_SURFACES: lambda key: project.surface if key == project.row.pk else None}
    with mock.patch.dict(surfaces._families, families), application() as endpoint:
        app = Application(endpoint, {("", PATH): project.surface})
        project.mcp = project.mcp.with_transport(app_transport(app, PATH))
        yield project


def _toolset(project: ReviewedProject) -> Toolset:
    def run(_context: ToolContext, /, **arguments: Any) -> Result:
        project.executed.append(arguments)
        if project.failure is not None:
            raise project.failure
        return Blocks([{"type": "text", "text": f"made {arguments.get('name')}"}])

    tools = [
        Tool(
            name=name,
            title=name,
            description="A tool of a test.",
            input_schema=USER,
            run=run,
            scope="setup:read",
            mutates=name != READ,
        )
        for name in (READ, WRITE, REMOVE)
    ]
    return Toolset(scope="setup:read", title="Users", tools=tools)


def _operation(name: str) -> OpenApiOperation:
    fields = tuple(BodyField(argument=each, name=each) for each in USER["properties"])
    return OpenApiOperation(
        key=name,
        name=name,
        operation_id=name,
        method="GET" if name == READ else "POST",
        path="/users",
        title=name,
        description="",
        full_schema=USER,
        listed_schema=USER,
        body=OperationBody(kind="json", media_type="application/json", fields=fields),
    )
