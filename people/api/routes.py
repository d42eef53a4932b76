"""The addresses of the HR API below /w/{workspace}/, and its OpenAPI document."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.views.decorators.http import require_safe

from people.api import contract, views
from people.api.operation import Operation
from people.api.operations import ALL
from rest import openapi as generated

PREFIX: Final = "api/v1/"
PUBLIC_SECONDS: Final = 300


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


@require_safe
def openapi(_request: HttpRequest, **_workspace: str) -> HttpResponse:
    """Returns the contract of this API; it is the same for every workspace."""
    return HttpResponse(
        _document(),
        content_type="application/json",
        headers={"Cache-Control": f"public, max-age={PUBLIC_SECONDS}"},
    )


def document() -> dict[str, Any]:
    """Returns the OpenAPI document."""
    return contract.complete_document(generated.document(_patterns(PREFIX)))


@cache
def _document() -> str:
    return json.dumps(document(), indent=2)


WORKSPACE: Final = "w/<slug:workspace>/"
PATTERNS: Final = (
    path(f"{WORKSPACE}{PREFIX}openapi.json", openapi, name="hr_openapi"),
    *_patterns(WORKSPACE + PREFIX),
)
