"""The HR API against its own contract."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import Any

import pytest
import schemathesis
from django.test import Client
from drf_spectacular import plumbing
from drf_spectacular.contrib.rest_framework_recursive import RecursiveFieldExtension
from drf_spectacular.validation import validate_schema
from hypothesis import given
from requests import Session
from schemathesis import Case, GenerationMode

from foundation.limits import Limit
from oauth import server_keys
from people.api.operations import ALL
from people.api.routes import document
from tests.drivers.contract import BOUNDED, CHECKS, InProcess
from tests.people.api.program import Program
from tests.people.conftest import Office

DOCUMENT: Any = document()
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
OPERATIONS = {found.ok().label: found.ok() for found in SCHEMA.get_all_operations()}


def operation_document(operation: Any) -> Any:
    return DOCUMENT["paths"][f"/api/v1/{operation.path}"][operation.method.lower()]


def test_the_document_is_valid_and_served_for_each_workspace() -> None:
    validate_schema(DOCUMENT)
    served = Client().get("/w/any-name/api/v1/openapi.json").json()
    assert served == {**DOCUMENT, "servers": served["servers"]}


def test_every_operation_has_a_scope_an_example_and_its_headers() -> None:
    assert len(DOCUMENT["paths"]) == len({one.path for one in ALL})
    for operation in ALL:
        found = operation_document(operation)
        assert found["operationId"] == operation.id
        assert found["x-scope"] in {*server_keys.HR_SCOPES, ""}
        content = found["responses"][str(operation.status)]["content"]["application/json"]
        assert content["examples"]
        headers = {one["name"] for one in found.get("parameters", ()) if one["in"] == "header"}
        assert ("Idempotency-Key" in headers) is operation.is_change
        assert ("If-Match" in headers) is operation.on_version


@pytest.mark.django_db
@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_no_request_breaks_the_contract(
    office: Office, settings: Any, name: str, mode: GenerationMode
) -> None:
    settings.HALO_RATE_IP = settings.HALO_RATE_HR_API = Limit.parse("100000/m")
    program = Program(office.organization)
    person = office.person(manager=office.person())
    office.leave_of(person, date(2026, 6, 1), date(2026, 6, 5))
    session = Session()
    session.mount("http://", InProcess())
    base = f"http://testserver/w/{office.organization.slug}"

    @BOUNDED
    @given(case=OPERATIONS[name].as_strategy(generation_mode=mode))
    def check(case: Case) -> None:
        headers = {"Authorization": f"Bearer {program.secret}"}
        case.call_and_validate(base_url=base, headers=headers, session=session, checks=CHECKS)

    check()


def test_several_programs_can_ask_for_the_contract_of_a_new_process_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Nothing has been generated yet, and to look for an optional library takes a moment.
    monkeypatch.setattr(
        RecursiveFieldExtension, "target_class", "rest_framework_recursive.fields.X"
    )
    found = plumbing.import_string
    monkeypatch.setattr(plumbing, "import_string", lambda name: time.sleep(0.1) or found(name))
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(document) for _number in range(4)]
        documents = [one.result() for one in asked]
    assert all(one == documents[0] for one in documents)
