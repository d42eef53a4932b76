"""The OpenAPI document of the HR API, generated from its operations."""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from django.urls import URLPattern
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
    inline_serializer,
)
from rest_framework import serializers

from people.api.operation import Operation
from rest import openapi

V = TypeVar("V", bound=Callable[..., Any])

REFUSALS: Final = (400, 401, 403, 404, 405, 409, 412, 413, 415, 428, 429, 500, 503)
OF_CHANGES: Final = frozenset({409, 412, 415, 428})
SCHEMES: Final = {
    "ApiKey": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key, hhr_live_... or hhr_test_... for the sandbox.",
    }
}
AUTH: Final[list[Any]] = [{"ApiKey": []}]
IF_NONE_MATCH: Final = OpenApiParameter(
    "If-None-Match",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="An ETag: the answer is 304 without a body if the record still has it.",
)
IF_MATCH: Final = OpenApiParameter(
    "If-Match",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    required=True,
    description="The ETag of the record that is changed.",
)
IDEMPOTENCY_KEY: Final = openapi.key_parameter(
    {"type": "string", "minLength": 8, "maxLength": 255, "pattern": "^[ -~]+$"}, required=True
)


class Detail(serializers.Serializer):
    field = serializers.CharField(allow_blank=True)
    issue = serializers.CharField()


class Refusal(serializers.Serializer):
    code = serializers.CharField()
    message = serializers.CharField()
    request_id = serializers.RegexField("^[a-zA-Z0-9._:-]{8,64}$")
    details = Detail(many=True)


class Problem(serializers.Serializer):
    error = Refusal()


class Pagination(serializers.Serializer):
    next_cursor = serializers.CharField(allow_null=True)
    has_more = serializers.BooleanField()
    limit = serializers.IntegerField()


def decorate(operation: Operation) -> Callable[[V], V]:
    """Returns the decorator that declares an operation in the document."""
    statuses = [one for one in REFUSALS if not operation.is_read or one not in OF_CHANGES]
    refusals = openapi.refusal_responses(Problem, statuses)
    answered = OpenApiResponse(
        envelope(operation),
        "Done" if operation.method != "GET" else "Found",
        examples=[OpenApiExample(operation.id, example(operation), response_only=True)],
    )
    unchanged = {304: OpenApiResponse(None, "Not changed")} if operation.is_read else {}
    return extend_schema(
        operation_id=operation.id,
        summary=operation.summary,
        tags=[operation.path.split("/")[0]],
        request=operation.request,
        responses={operation.status: answered, **unchanged, **refusals},
        parameters=_parameters(operation),
        auth=AUTH,
        extensions={"x-scope": operation.scope},
    )


def envelope(operation: Operation) -> serializers.Serializer:
    """Returns the shape of a whole answer."""
    fields: dict[str, Any] = {"data": operation.response(many=operation.lists)}
    if operation.pages:
        fields["pagination"] = Pagination()
    name = f"{operation.id[0].upper()}{operation.id[1:]}Answer"
    return inline_serializer(name, fields | dict(operation.also))


def example(operation: Operation) -> dict[str, Any]:
    """Returns a whole answer."""
    data = [operation.example] if operation.lists else operation.example
    pagination = {"next_cursor": None, "has_more": False, "limit": 25}
    pages = {"pagination": pagination} if operation.pages else {}
    return {"data": data, **pages, **operation.also_example}


def _parameters(operation: Operation) -> list[Any]:
    found: list[Any] = [operation.query] if operation.query else []
    if operation.is_read:
        return [*found, IF_NONE_MATCH]
    if not operation.is_change:
        return found
    return [*found, IDEMPOTENCY_KEY, *([IF_MATCH] if operation.on_version else [])]


def document(patterns: Sequence[URLPattern]) -> dict[str, Any]:
    """Returns the OpenAPI document of the views at these addresses."""
    found = openapi.document(patterns, SCHEMES)
    found["info"] = {
        "title": "HR API",
        "version": "1",
        "description": "People, employment and time off of one organization.",
    }
    return found
