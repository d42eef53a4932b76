"""The tools of the HR endpoint that read: contract-aware ones, and those for one record.

`finding` declares those that find and count, and `writes` those that change records.
"""

from collections.abc import Mapping
from datetime import date, timedelta
from functools import cache
from typing import Annotated, Any, Final

from oauth.server_keys import KeyPrincipal
from people import days
from people.api.operation import Operation
from people.mcp import (
    contract,
    declaring,
    finding,
    running,
    writes,
)
from people.mcp.contract import EXPOSED
from people.mcp.declaring import TEXT, Identifier, OperationArguments, an_object, hr_tool
from people.mcp.running import OperationCall, run_operation
from people.models import Person
from tools_registry.api import Facts, Keywords, Schema, Tool, ToolContext, ValidationFailure

# What a person has ahead of them, in get_person_context.
AHEAD: Final = timedelta(days=90)
MAX_AHEAD: Final = 10
AHEAD_FIELDS: Final = ("upcoming_time_off", "upcoming_time_off_has_more")
DESCRIBED: Final = dict.fromkeys(("operation_id", "method", "path", "scope", "summary"), TEXT)
REFERENCE: Final[Mapping[str, str]] = {
    "countries": "listReferenceCountries",
    "statuses": "listReferenceStatuses",
    "work_types": "listReferenceWorkTypes",
    "work_places": "listReferenceWorkPlaces",
    "document_types": "listReferenceDocumentTypes",
    "time_off_statuses": "listReferenceTimeOffStatuses",
    "time_off_categories": "listReferenceTimeOffCategories",
}


class ReadArguments(OperationArguments, total=False):
    """As of any operation; a body is accepted for an answer that names the tool that takes it."""

    body: Any


@cache
def all_tools() -> tuple[Tool, ...]:
    """Returns the tools of this module, of `finding` and of `writes`; made once."""
    return declaring.build_tools()


@cache
def catalogue_version() -> str:
    return contract.fingerprint(all_tools())


def _principal_schema() -> Schema:
    principal = contract.resource_schema(EXPOSED["getApiPrincipal"])
    version = {"catalogue_version": TEXT}
    return {
        **principal,
        "properties": {**principal["properties"], **version},
        "required": [*principal["required"], *version],
    }


@hr_tool(
    title="Who am I",
    description=(
        "Read what this connection is: the organization, the API key and its scopes, live records "
        "or the sandbox, today, the time zone and the leave year, and the version of the catalogue "
        "of tools. The key is no person: ask who “me” is. Start here."
    ),
    output=_principal_schema,
)
def whoami(context: ToolContext) -> Facts:
    value: Any = run_operation(context, OperationCall(EXPOSED["getApiPrincipal"])).value
    return Facts({**value["data"], "catalogue_version": catalogue_version()})


@hr_tool(
    title="Read a person",
    description="Read one person by the id that search_people answered.",
    operation="getPerson",
)
def get_person(context: ToolContext, person_id: Identifier) -> Facts:
    return run_operation(context, OperationCall(EXPOSED["getPerson"], {"person_id": person_id}))


def _person_context_schema() -> Schema:
    balance = contract.resource_schema(EXPOSED["getPersonTimeOffBalance"])
    return an_object(
        {
            "person": contract.resource_schema(EXPOSED["getPerson"]),
            "employment": contract.resource_schema(EXPOSED["getPersonEmployment"]),
            "org_links": contract.resource_schema(EXPOSED["getPersonOrgLinks"]),
            "time_off_balance": {"oneOf": [balance, {"type": "null"}]},
            "upcoming_time_off": {
                "type": ["array", "null"],
                "items": contract.resource_schema(EXPOSED["listTimeOff"]),
            },
            "upcoming_time_off_has_more": {"type": ["boolean", "null"]},
        }
    )


@hr_tool(
    title="Read a person with their context",
    description=(
        "Read one person with what they are employed as, their units and relationships and, if "
        "the key has time_off:read, what is left of each allowance and their pending and "
        "approved absences of the next 90 days, the next one first. Approved and pending requests "
        "are subtracted from remaining. "
        f"{finding.NOT_LISTED}"
    ),
    scope="people:read",
    output=_person_context_schema,
)
def get_person_context(context: ToolContext, person_id: Identifier) -> Facts:
    path = {"person_id": person_id}
    parts = {
        "person": OperationCall(EXPOSED["getPerson"], path),
        "employment": OperationCall(EXPOSED["getPersonEmployment"], path),
        "org_links": OperationCall(EXPOSED["getPersonOrgLinks"], path),
    }
    if "time_off:read" in running.key_of(context).scopes:
        today = _today_of_person(context, person_id)
        period = {"from": today.isoformat(), "to": (today + AHEAD).isoformat()}
        ahead = {"status": "pending_or_approved", "sort": "start_date", "limit": MAX_AHEAD}
        query = {**period, **path, **ahead}
        parts["time_off_balance"] = OperationCall(EXPOSED["getPersonTimeOffBalance"], path)
        parts["upcoming_time_off"] = OperationCall(EXPOSED["listTimeOff"], query=query)
    bodies, rows = running.run_operations(context, list(parts.values()))
    found: dict[str, Any] = dict.fromkeys(("time_off_balance", *AHEAD_FIELDS))
    for name, body in zip(parts, bodies, strict=True):
        found[name] = body["data"]
        if name == "upcoming_time_off":
            found["upcoming_time_off_has_more"] = body["pagination"]["has_more"]
    return Facts(found, row_count=rows)


def _today_of_person(context: ToolContext, person_id: str) -> date:
    with running.failures(context):
        found = OperationCall(EXPOSED["getPerson"], {"person_id": person_id})
        call = running.check_call(running.key_of(context), found)
        row = call.row(Person, person_id, "organization", "work_place")
    return days.today(row.organization, row.work_place)


@hr_tool(
    title="Read a request for time off",
    description="Read one absence or request by the id that list_time_off answered.",
    operation="getTimeOff",
)
def get_time_off(context: ToolContext, time_off_id: Identifier) -> Facts:
    return run_operation(
        context, OperationCall(EXPOSED["getTimeOff"], {"time_off_id": time_off_id})
    )


def _reference_schema() -> Schema:
    shapes = [
        contract.resource_schema(EXPOSED[REFERENCE[kind]])
        for kind in ("work_places", "time_off_categories", "countries")
    ]
    return an_object({"data": {"type": "array", "items": {"anyOf": shapes}}})


@hr_tool(
    title="List reference data",
    description=(
        "List what records refer to: countries, statuses, work types and places, document types, "
        "and the statuses and categories of time off. The kind of a category is allowance, "
        "sickness or other; its name is Absence unless the organization allows more."
    ),
    scope="reference:read",
    output=_reference_schema,
)
def list_reference(
    context: ToolContext, kind: Annotated[str, Keywords(enum=list(REFERENCE))]
) -> Facts:
    return run_operation(context, OperationCall(EXPOSED[REFERENCE[kind]]))


@hr_tool(
    title="List operations",
    description=(
        "List the operations of the HR API that are available here, and whether this "
        "connection may use each now."
    ),
    output=lambda: an_object(
        {
            "operations": {
                "type": "array",
                "items": an_object({**DESCRIBED, "is_permitted": {"type": "boolean"}}),
            },
            "catalogue_version": TEXT,
        }
    ),
)
def list_api_operations(context: ToolContext) -> Facts:
    key = running.key_of(context)
    operations = [
        {**contract.summary(one), "is_permitted": _is_permitted(one, key)}
        for one in EXPOSED.values()
    ]
    return Facts({"operations": operations, "catalogue_version": catalogue_version()})


def _is_permitted(operation: Operation, key: KeyPrincipal) -> bool:
    if operation.is_read:
        return not operation.scope or operation.scope in key.scopes
    return writes.refusal(operation, key) is None


@hr_tool(
    title="Read an operation",
    description=(
        "Read the parameters of one operation, the body of one that changes something, and the "
        "schema of its answer."
    ),
    output=lambda: an_object(
        {
            **DESCRIBED,
            "path_params": {"type": "object"},
            "query": {"type": "object"},
            "answer": {"type": "object"},
            "body": {"type": ["object", "null"]},
        }
    ),
)
def get_api_operation(_context: ToolContext, operation_id: Identifier) -> Facts:
    operation = contract.find_operation(operation_id)
    return Facts(
        {
            **contract.summary(operation),
            "path_params": contract.path_parameters(operation),
            "query": contract.query_parameters(operation),
            "body": contract.body_schema(operation),
            "answer": contract.answer_schema(operation),
        }
    )


@hr_tool(
    title="Call an operation",
    description="Call one operation that reads. get_api_operation says which parameters it takes.",
    unlisted=("args", "body"),
    output=lambda: an_object({"operation_id": TEXT, "answer": {"type": "object"}}),
)
def call_api_operation(
    context: ToolContext, operation_id: Identifier, args: ReadArguments | None = None
) -> Facts:
    operation = contract.find_operation(operation_id)
    if not operation.is_read:
        message = f"{operation.id} changes records. Send it to prepare_api_write."
        raise ValidationFailure(message, field="operation_id")
    sent: ReadArguments = args or {}
    if "body" in sent:
        raise ValidationFailure(f"{operation.id} reads: it takes no body.", field="args.body")
    asked = OperationCall(operation, sent.get("pathParams", {}), sent.get("query", {}))
    contract.require_path(operation, asked.path)
    found = run_operation(context, asked)
    return Facts({"operation_id": operation.id, "answer": found.value}, row_count=found.row_count)
