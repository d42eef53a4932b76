"""The addresses of the HR API below /w/{workspace}/, and its OpenAPI document."""

from collections.abc import Mapping
from typing import Any, Final

from django.urls import URLPattern, path

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


WORKSPACE: Final = "w/<slug:workspace>/"
PATTERNS: Final = (
    path(f"{WORKSPACE}{PREFIX}openapi.json", document_view(document), name="hr_openapi"),
    *_patterns(WORKSPACE + PREFIX),
)
