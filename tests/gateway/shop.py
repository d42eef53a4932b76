"""A project over a small shop whose answers are configured by the test."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from gateway import projects, source
from gateway.models import Project
from gateway.source import ProjectSource
from mcp_protocol.revisions import Revision
from tests.drivers.asgi import app_transport, application
from tests.drivers.fake_vendors.site import Site
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tools_registry.endpoint.surface import WORKSPACE_SURFACE
from tools_registry.registry import Catalogue

PATH = "/shop"
ITEM = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
BODY = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "properties": {"title": {"type": "string"}, "price": {"type": "number"}},
                "required": ["title"],
                "additionalProperties": False,
            }
        }
    },
}


def document(**changes: Any) -> dict[str, Any]:
    """The shop's OpenAPI document; `changes` replace parts of it."""
    found = {"200": {"description": "Found."}}
    paths: dict[str, Any] = {
        "/items": {
            "get": {
                "operationId": "listItems",
                "summary": "Lists items.",
                "parameters": [{"name": "q", "in": "query", "schema": {"type": "string"}}],
                "responses": found,
            },
            "post": {
                "operationId": "createItem",
                "summary": "Adds an item.",
                "requestBody": BODY,
                "responses": found,
            },
        },
        "/items/{id}": {
            "get": {
                "operationId": "getItem",
                "summary": "Returns an item.",
                "parameters": [ITEM],
                "responses": found,
            },
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Shop", "version": "1"},
        "servers": [{"url": "https://shop.example/v1"}],
        "paths": paths,
    } | changes


def secured_document(scheme: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The shop's document, all of whose operations need one security scheme called `key`."""
    schemes = {"securitySchemes": {"key": scheme}}
    return document(components=schemes, security=[{"key": []}], **changes)


def text(described: dict[str, Any] | None = None) -> str:
    return json.dumps(described or document())


def create_project(
    grant: Grant, site: Site, described: dict[str, Any] | None = None, **more: Any
) -> Project:
    """A project of the person's organization over the site; every call is allowed."""
    given = {"name": "Shop", "target_url": f"{site.url}/v1", "policy": "allow"} | more
    return projects.create(
        grant.organization, owner=grant.user, document_text=text(described), **given
    ).project


@dataclass(frozen=True)
class Shop:
    """A project, its API, and a client at its endpoint."""

    grant: Grant
    site: Site
    project: Project
    mcp: McpClient


@contextmanager
def endpoint(grant: Grant, project: Project) -> Iterator[McpClient]:
    """A client at a surface that offers the project's tools."""
    offered = ProjectSource(project.pk)
    surface = replace(
        WORKSPACE_SURFACE,
        name=f"gateway:{project.pk}",
        catalogue=Catalogue(lambda: [offered]),
        layers={source.LAYER: source.availability},
    )
    from halo_mcp.asgi import Application  # noqa: PLC0415  settings first
    from halo_mcp.mounts import SURFACES  # noqa: PLC0415  settings first

    with application() as app:
        mounted = Application(app, {**SURFACES, ("", PATH): surface})
        client = McpClient(grant.token()).with_revision(Revision.V2025_11_25)
        yield client.with_transport(app_transport(mounted, PATH))
