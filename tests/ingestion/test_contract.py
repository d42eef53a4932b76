"""The SDK API against its own contract."""

from io import BytesIO
from typing import Any

import pytest
import schemathesis
from django.test import Client
from drf_spectacular.validation import validate_schema
from hypothesis import HealthCheck, Phase, given, settings
from requests import PreparedRequest, Response, Session
from requests.adapters import BaseAdapter, HTTPAdapter
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)
from urllib3 import HTTPResponse

from foundation.limits import Limit
from ingestion import contract
from ingestion.routes import ROUTES
from tests.ingestion.app import App

DOCUMENT: Any = contract.document(ROUTES)
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
OPERATIONS = {found.ok().path: found.ok() for found in SCHEMA.get_all_operations()}
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


def test_the_document_is_valid_and_served() -> None:
    validate_schema(DOCUMENT)
    served = Client().get("/api/sdk/openapi.json")
    assert served.json() == DOCUMENT


def test_the_contract_has_every_route() -> None:
    routes = {where.replace("<str:ticket_id>", "{ticket_id}") for where in ROUTES}
    assert set(DOCUMENT["paths"]) == {f"/api/sdk/{where}" for where in routes}
    assert set(OPERATIONS) == set(DOCUMENT["paths"])


@pytest.mark.parametrize("mode", GenerationMode)
@pytest.mark.parametrize("path", OPERATIONS)
def test_generated_requests_get_what_the_contract_says(
    app: App, path: str, mode: GenerationMode, settings: Any
) -> None:
    settings.HALO_RATE_IP = settings.HALO_RATE_SDK = Limit.parse("100000/m")
    headers, session = app.server().headers, Session()
    session.mount("http://", InProcess())

    @BOUNDED
    @given(case=OPERATIONS[path].as_strategy(generation_mode=mode))
    def check(case: Case) -> None:
        case.call_and_validate("http://testserver", session=session, checks=CHECKS, headers=headers)

    check()
