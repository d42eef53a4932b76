"""The tools of the HR endpoint, given whatever fits their schemas and what does not."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as bounded
from hypothesis import strategies as st

from audit.models import ActionExecution
from foundation.limits import Limit
from mcp_protocol.revisions import REVISIONS
from people.mcp import contract, tools
from people.models import Person
from tests.drivers import schema_values
from tests.people.api.program import Program
from tests.people.mcp.conftest import CANARY
from tests.people.mcp.endpoint import client

FUZZ = bounded(
    max_examples=25,
    deadline=None,
    # One database serves every example on purpose.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
CLEAR = {
    *("success", "validation_failed", "not_found", "refused", "input_required"),
    "integration_error",
}


@pytest.fixture
def known_ids(secretive: Program, settings: Any) -> dict[str, list[str]]:
    """Ids that exist, by the names of arguments."""
    settings.HALO_HR_DAILY_ROWS, settings.HALO_HR_WRITE_MODE = 1_000_000, "enabled"
    for name in ("TOOLS_CALL", "IP"):
        setattr(settings, f"HALO_RATE_{name}", Limit(1_000_000, 60))
    people = Person.objects.filter(organization=secretive.organization).exclude(manager=None)
    person = people.order_by("pk")[0]
    return {
        "person_id": [person.pk],
        "time_off_id": [row.pk for row in person.time_off.all()[:3]],
        "category_id": [row.category_id for row in person.time_off.all()[:3]],
        "org_unit_id": [person.department_id],
        "document_id": [row.pk for row in person.documents.all()],
        "working_pattern_id": [person.working_pattern_id],
        "operation_id": list(contract.EXPOSED),
        "search": [CANARY, person.last_name],
        "type": [CANARY],
    }


def with_known(data: Any, given: Any, known: dict[str, list[str]]) -> Any:
    """The arguments, some of them with a value that exists."""
    if not isinstance(given, dict):
        return given
    found = {name: with_known(data, value, known) for name, value in given.items()}
    for name in found.keys() & known.keys():
        if data.draw(st.booleans()):
            found[name] = data.draw(st.sampled_from(known[name]))
    operation = contract.EXPOSED.get(str(found.get("operation_id")))
    if operation is not None and data.draw(st.booleans()):
        names = contract.path_parameters(operation)
        path = {one: data.draw(st.sampled_from(known.get(one, ["x"]))) for one in names}
        found["args"] = {"pathParams": path}
    return found


@pytest.mark.parametrize("tool", tools.all_tools(), ids=lambda tool: tool.name)
@FUZZ
@given(data=st.data(), revision=st.sampled_from(REVISIONS))
def test_no_arguments_lead_to_a_failure_or_to_what_is_private(
    secretive: Program, known_ids: dict[str, list[str]], tool: Any, data: Any, revision: Any
) -> None:
    made = schema_values.fitting(tool.input_schema) | schema_values.invalid_objects(
        tool.input_schema
    )
    arguments = with_known(data, data.draw(made), known_ids)
    reply = client(secretive, revision).call(tool.name, arguments)
    assert reply.status == 200, reply.body
    row = ActionExecution.objects.latest("pk")
    assert row.outcome in CLEAR, (row.outcome, row.reason, row.detail, reply.body)
    said = reply.body.decode().lower()
    if CANARY.lower() not in str(arguments).lower():
        assert CANARY.lower() not in said
        assert CANARY.lower() not in str([row.arguments, row.detail]).lower()
