"""The SDK API against its own contract."""

import re
from typing import Any

import pytest
import schemathesis
from django.test import Client
from drf_spectacular.validation import validate_schema
from hypothesis import given
from requests import Session
from schemathesis import Case, GenerationMode

from foundation.limits import Limit
from ingestion import contract
from ingestion.routes import ROUTES
from tests.drivers.contract import BOUNDED, CHECKS, InProcess
from tests.ingestion.app import App

DOCUMENT: Any = contract.document(ROUTES)
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
OPERATIONS = {found.ok().label: found.ok() for found in SCHEMA.get_all_operations()}


def test_the_document_is_valid_and_served() -> None:
    validate_schema(DOCUMENT)
    served = Client().get("/api/sdk/openapi.json")
    assert served.json() == DOCUMENT


def test_the_contract_has_every_route() -> None:
    routes = {re.sub(r"<\w+:(\w+)>", r"{\1}", where) for where in ROUTES}
    assert set(DOCUMENT["paths"]) == {f"/api/sdk/{where}" for where in routes}
    assert {each.path for each in OPERATIONS.values()} == set(DOCUMENT["paths"])


def test_bodies_and_their_parts_take_no_other_members() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    closed = [name for name in schemas if schemas[name].get("additionalProperties") is False]
    assert closed == [
        "Alias", "CompanyUpsert", "CustomerMerge", "Event", "EventBatch", "Identify",
        "TicketCreate", "TicketReply", "TicketUpdate", "TranscriptMessage", "TranscriptRating",
        "TranscriptUpsert", "UserUpdate", "UsersUpdate",
    ]  # fmt: skip


@pytest.mark.parametrize("mode", GenerationMode)
@pytest.mark.parametrize("label", OPERATIONS)
def test_generated_requests_get_what_the_contract_says(
    app: App, label: str, mode: GenerationMode, settings: Any
) -> None:
    settings.HALO_RATE_IP = settings.HALO_RATE_SDK = Limit.parse("100000/m")
    headers, session = app.server().headers, Session()
    session.mount("http://", InProcess())

    @BOUNDED
    @given(case=OPERATIONS[label].as_strategy(generation_mode=mode))
    def check(case: Case) -> None:
        case.call_and_validate("http://testserver", session=session, checks=CHECKS, headers=headers)

    check()
