"""Generated requests to the application in process, judged by an OpenAPI document."""

from io import BytesIO
from typing import Any

from django.test import Client
from hypothesis import HealthCheck, Phase, settings
from requests import PreparedRequest, Response
from requests.adapters import BaseAdapter, HTTPAdapter
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)
from urllib3 import HTTPResponse

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
BOUNDED = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


class InProcess(BaseAdapter):
    """Sends requests to Django's test client, which stays within the transaction of a test."""

    def send(self, request: PreparedRequest, *_: Any, **__: Any) -> Response:
        sent = request.body or b""
        answered = Client(raise_request_exception=False).generic(
            str(request.method),
            request.path_url,
            sent.encode() if isinstance(sent, str) else sent,
            content_type=request.headers.get("Content-Type", ""),
            headers=dict(request.headers),
        )
        response: Response = HTTPAdapter().build_response(
            request,
            HTTPResponse(
                BytesIO(answered.content),
                headers=dict(answered.headers),
                status=answered.status_code,
                preload_content=False,
            ),
        )
        return response

    def close(self) -> None:
        """Does nothing: there is no connection."""
