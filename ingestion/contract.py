"""The OpenAPI document of the SDK API: what its views declare, put together by drf-spectacular."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from ingestion import serializers
from ingestion.callers import KEY_HEADER
from rest import openapi
from rest.serializers import StrictSerializer

V = TypeVar("V", bound=Callable[..., Any])

PREFIX: Final = "api/sdk/"
REFUSALS: Final = (400, 401, 403, 404, 405, 409, 413, 415, 429, 503)
SCHEMES: Final = {
    "WidgetKey": {
        "type": "apiKey",
        "in": "header",
        "name": KEY_HEADER,
        "description": "The publishable widget key, ab_live_..., of a page.",
    },
    "IdentityToken": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "A token that your server signs with the identity secret.",
    },
    "ServerKey": {
        "type": "http",
        "scheme": "bearer",
        "description": "A server key, halo_sk_...; never on a page.",
    },
}
# Components have the names of their serializers without "Serializer".
STRICT_COMPONENTS: Final = frozenset(
    name.removesuffix("Serializer")
    for name, found in vars(serializers).items()
    if isinstance(found, type) and issubclass(found, StrictSerializer)
)
PAGES_AND_SERVERS: Final[list[Any]] = [
    {"WidgetKey": []},
    {"WidgetKey": [], "IdentityToken": []},
    {"ServerKey": []},
]
UPDATES: Final[list[Any]] = [{"WidgetKey": [], "IdentityToken": []}, {"ServerKey": []}]
SERVERS: Final[list[Any]] = [{"ServerKey": []}]
ORGANIZATION: Final = OpenApiParameter(
    "org_id", OpenApiTypes.UUID, required=True, description="The id of your organization."
)


def _path(name: str, description: str) -> OpenApiParameter:
    return OpenApiParameter(name, str, OpenApiParameter.PATH, description=description)


TICKET: Final = OpenApiParameter(
    "ticket_id",
    str,
    OpenApiParameter.PATH,
    description="The id that creating it returned, or external_id.",
)
JOIN: Final = OpenApiParameter(
    "join_id", str, OpenApiParameter.PATH, description="The id in `joins` of an answer."
)
CUSTOMER: Final = _path("user_id", "The customer's id in your own system, or in Halo.")
COMPANY: Final = _path("company_id", "The company's id in your own system, or in Halo.")
SESSION: Final = _path("session_id", "The conversation, or its id in Halo.")
EVENT: Final = _path("event_id", "The id that a server sent with the event.")
IDEMPOTENCY_KEY: Final = openapi.key_parameter({"type": "string", "pattern": "^[!-~]{1,200}$"})


def operation(
    summary: str,
    *,
    response: type[Any],
    request: type[Any] | None = None,
    parameters: Sequence[OpenApiParameter] = (),
    auth: list[Any] = PAGES_AND_SERVERS,
) -> Callable[[V], V]:
    """Declares an operation in the contract: its bodies, parameters and kinds of caller."""
    refusals = openapi.refusal_responses(serializers.ProblemSerializer, REFUSALS)
    return extend_schema(
        summary=summary,
        tags=["sdk"],
        request=request,
        responses={200: OpenApiResponse(response, "Stored, or read"), **refusals},
        parameters=list(parameters),
        auth=auth,
    )


def document(routes: Mapping[str, Callable[..., Any]]) -> Mapping[str, Any]:
    """Returns the OpenAPI document of these routes."""
    patterns = [path(PREFIX + where, view) for where, view in routes.items()]
    found = openapi.document(patterns, SCHEMES)
    for name, schema in found["components"]["schemas"].items():
        if name in STRICT_COMPONENTS:
            schema["additionalProperties"] = False
            _accept_null(schema)
    return found


def _accept_null(schema: dict[str, Any]) -> None:
    """Has optional members accept null, which leaves them out (`rest/serializers.py`)."""
    required = schema.get("required", ())
    for name, part in schema["properties"].items():
        if name in required or "null" in part.get("type", ()):
            continue
        if isinstance(part.get("type"), str) and "enum" not in part:
            part["type"] = [part["type"], "null"]
        else:
            schema["properties"][name] = {"anyOf": [part, {"type": "null"}]}
