"""The addresses of the HR API below /w/{workspace}/, and its OpenAPI document."""

from collections.abc import Mapping
from typing import Any, Final

from django.http import HttpRequest
from django.urls import URLPattern, path

from oauth.addresses import MCP_PATH
from people import hosts
from people.api import contract, views
from people.api.operation import Operation
from people.api.operations import ALL
from rest.openapi import document_view

PREFIX: Final = "api/v1/"


def _operations_by_path() -> Mapping[str, Mapping[str, Operation]]:
    found: dict[str, dict[str, Operation]] = {}
    for operation in ALL:
        found.setdefault(operation.path, {})[operation.method] = operation
    return found


def _patterns(prefix: str) -> list[URLPattern]:
    return [
        path(
            prefix + where.replace("{", "<str:").replace("}", ">"),
            views.view_of(operations, contract.decorate).as_view(),
        )
        for where, operations in _operations_by_path().items()
    ]


def document() -> dict[str, Any]:
    """Returns the OpenAPI document."""
    return contract.document(_patterns(PREFIX))


def find_server(request: HttpRequest, workspace: str) -> str:
    """Returns the address of a workspace as it was requested, to which paths are added."""
    return hosts.resource(request.headers.get("Host", ""), workspace).removesuffix(MCP_PATH)


WORKSPACE: Final = "w/<slug:workspace>/"
PATTERNS: Final = (
    path(
        f"{WORKSPACE}{PREFIX}openapi.json", document_view(document, find_server), name="hr_openapi"
    ),
    *_patterns(WORKSPACE + PREFIX),
)
