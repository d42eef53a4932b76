"""Every operation of the HR API that reads: own records, and none of another organization."""

import json
import re
from datetime import date
from typing import Any

import pytest
from django.utils import timezone

from people.api.operation import Operation
from people.api.operations import ALL
from people.models import (
    CustomField,
    CustomFieldValue,
    Document,
    EmploymentRecord,
    OrgUnit,
    OrgUnitMembership,
    Person,
    TimeOff,
    TimeOffCategory,
    TimeOffDecision,
    WorkingPattern,
)
from tests.drivers.full_tenants import FullTenant, tenant
from tests.people.api.program import Program

OWN, THEIRS = "erstefirma", "zweitefirma"
READS = [one for one in ALL if one.method == "GET"]
# The same for every organization.
OF_NOBODY = {
    *("reference/countries", "reference/statuses", "reference/work-types"),
    *("reference/document-types", "reference/time-off-statuses"),
}
WHO_IS_OUT = "time-off/who-is-out"
# Numbers only.
WITHOUT_NAMES = {
    *("time-off/settings", "people/{person_id}/time-off-balance"),
    *("people/{person_id}/leave-balance-ledger", "people/count"),
}
KEY = re.compile(r"\{(\w+)\}")
MODELS: dict[str, Any] = {
    "person_id": Person,
    "org_unit_id": OrgUnit,
    "working_pattern_id": WorkingPattern,
    "history_id": EmploymentRecord,
    "time_off_id": TimeOff,
    "category_id": TimeOffCategory,
    "document_id": Document,
}


def office(name: str) -> FullTenant:
    """An organization whose every HR record has its name in it."""
    made = tenant(name)
    person = made.rows[Person]
    own = {"organization": made.organization, "person": person}
    OrgUnitMembership.objects.create(
        **own, unit=made.rows[OrgUnit], effective_from=date(2026, 1, 1)
    )
    CustomFieldValue.objects.create(person=person, field=made.rows[CustomField], value=name)
    TimeOff.objects.filter(person=person).update(status="approved")
    TimeOffDecision.objects.filter(organization=made.organization).update(comment=f"{name} wish")
    TimeOffCategory.objects.filter(organization=made.organization).update(consumes_balance=True)
    Person.objects.create(organization=made.organization, first_name=name, manager=person)
    made.rows[Document] = Document.objects.create(**own, name=f"{name} contract")
    return made


def path_of(operation: Operation, *given: FullTenant) -> str:
    """The path of an operation, with the keys of the tenants in turn; the last for the rest."""
    tenants = iter(given)
    last = given[-1]
    return KEY.sub(lambda found: next(tenants, last).rows[MODELS[found[1]]].pk, operation.path)


@pytest.mark.django_db
@pytest.mark.parametrize("operation", READS, ids=lambda one: one.id)
def test_l02_a_read_has_own_records_and_none_of_another_organization(operation: Operation) -> None:
    ours, theirs = office(OWN), office(THEIRS)
    for own, other in ((ours, theirs), (theirs, ours)):
        today = timezone.localdate().isoformat()
        query = {"from_": today, "to": today} if operation.path == WHO_IS_OUT else {}
        reply = Program(own.organization).get(path_of(operation, own), **query)
        answer = json.dumps(reply.data)
        assert other.name not in answer
        assert other.rows[Person].pk not in answer
        if operation.path not in OF_NOBODY | WITHOUT_NAMES | {"me"}:
            assert own.name in answer


@pytest.mark.django_db
@pytest.mark.parametrize(
    "operation", [one for one in READS if KEY.search(one.path)], ids=lambda one: one.id
)
def test_l01_a_record_of_another_organization_is_like_one_that_never_was(
    operation: Operation,
) -> None:
    ours, theirs = office(OWN), office(THEIRS)
    program = Program(ours.organization)
    path = path_of(operation, theirs)
    key = next(row for row in path.split("/")[1:] if row not in operation.path)
    missing = path.replace(key, f"{key[:-4]}zzzz")
    replies = [program.get(one) for one in (path, missing)]
    assert [one.code for one in replies] == ["404 not_found"] * 2
    said = [reply.error["message"] for reply in replies]
    # The only difference is the id, which is named as it was sent.
    assert said[0].replace(key, "") == said[1].replace(f"{key[:-4]}zzzz", "")
    assert program.get(path_of(operation, ours)).status == 200
