"""Projects of the gateway as rows, with the tools of a small user directory."""

from collections.abc import Mapping

from gateway.models import Project, ProjectTool
from gateway.openapi.shapes import OpenApiOperation, Parameter, as_json
from tests.drivers import in_process_server
from tests.drivers.mcp import McpClient, Reply, Transport
from workspace.models import Organization, User

LIST_USERS = OpenApiOperation(
    key="GET /users",
    name="list_users",
    operation_id="list_users",
    method="GET",
    path="/users",
    title="",
    description="List all users",
    full_schema={
        "type": "object",
        "properties": {"limit": {"type": "integer", "description": "Maximum results"}},
    },
    listed_schema={
        "type": "object",
        "properties": {"limit": {"type": "integer", "description": "Maximum results"}},
    },
    parameters=[
        Parameter(argument="limit", name="limit", place="query", style="form", explode=True)
    ],
)
DELETE_USER = OpenApiOperation(
    key="DELETE /users/{id}",
    name="delete_user",
    operation_id="delete_user",
    method="DELETE",
    path="/users/{id}",
    title="",
    description="Delete one user",
    full_schema={
        "type": "object",
        "properties": {"id": {"type": "string"}},
        "required": ["id"],
    },
    listed_schema={
        "type": "object",
        "properties": {"id": {"type": "string"}},
        "required": ["id"],
    },
    parameters=[
        Parameter(
            argument="id", name="id", place="path", style="simple", explode=False, required=True
        )
    ],
)


def project(
    organization: Organization,
    owner: User,
    *operations: OpenApiOperation,
    name: str = "Directory",
    target_url: str = "http://127.0.0.1:9",
) -> Project:
    """A project with these operations as tools; by default one that reads and one that writes."""
    made = Project.objects.create(
        organization=organization, owner=owner, name=name, target_url=target_url
    )
    for operation in operations or (LIST_USERS, DELETE_USER):
        ProjectTool.objects.create(
            project=made,
            name=operation.name,
            key=operation.key,
            operation=as_json(operation),
            fingerprint=operation.fingerprint,
            is_read=operation.method in {"GET", "HEAD"},
        )
    return made


def path_transport(path: str) -> Transport:
    """A transport to a path of the application in process."""

    def send(method: str, headers: Mapping[str, str], body: bytes) -> Reply:
        return Reply(*in_process_server.request(method, path, headers.items(), body))

    return send


def client(path: str, token: str | None = None) -> McpClient:
    return McpClient(token, transport=path_transport(path))
