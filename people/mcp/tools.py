"""The tools of the HR endpoint: contract-aware ones, and those for common work."""

from collections.abc import Mapping
from datetime import date, timedelta
from functools import cache
from typing import Any, Final

from oauth.server_keys import KeyPrincipal
from people import access, days
from people.api import callers
from people.api.operation import Operation
from people.mcp import contract, running, write_tools, writes
from people.mcp.contract import EXPOSED
from people.mcp.declaring import KEY, PATH_PARAMETERS, QUERY, TEXT, an_object, tool
from people.mcp.running import OperationCall
from people.models import Person
from tools_registry.api import Arguments, Facts, Tool, ToolContext, ValidationFailure
from tools_registry.api.apps import TIME_OFF_CALENDAR

SEARCHED: Final = ("search", "limit", "cursor")
LISTED: Final = ("person_id", "status", "from", "to", "limit", "cursor", "updated_since", "sort")
# What a person has ahead of them, in get_person_context.
AHEAD: Final = timedelta(days=90)
MAX_AHEAD: Final = 10
OF_A_PERSON: Final[Mapping[str, Any]] = {
    "properties": {"person_id": KEY},
    "required": ("person_id",),
}
DESCRIBED: Final = dict.fromkeys(("operation_id", "method", "path", "scope", "summary"), TEXT)
# What call_api_operation passes on.
ARGUMENTS: Final = {
    "type": "object",
    "properties": {"pathParams": PATH_PARAMETERS, "query": QUERY},
    "additionalProperties": False,
}
# A body is accepted for an answer that names the tool that takes it.
ARGUMENTS_OR_BODY: Final = {
    **ARGUMENTS,
    "properties": {"pathParams": PATH_PARAMETERS, "query": QUERY, "body": {}},
}
REFERENCE: Final[Mapping[str, str]] = {
    "countries": "listReferenceCountries",
    "statuses": "listReferenceStatuses",
    "work_types": "listReferenceWorkTypes",
    "work_places": "listReferenceWorkPlaces",
    "document_types": "listReferenceDocumentTypes",
    "time_off_statuses": "listReferenceTimeOffStatuses",
    "time_off_categories": "listReferenceTimeOffCategories",
}


def whoami(context: ToolContext, _arguments: Arguments) -> Facts:
    value: Any = running.one(context, OperationCall(EXPOSED["getApiPrincipal"])).value
    return Facts({**value["data"], "catalogue_version": catalogue_version()})


def search_people(context: ToolContext, arguments: Arguments) -> Facts:
    return running.one(context, OperationCall(EXPOSED["listPeople"], query=arguments))


def get_person(context: ToolContext, arguments: Arguments) -> Facts:
    return running.one(context, OperationCall(EXPOSED["getPerson"], path=arguments))


def get_person_context(context: ToolContext, arguments: Arguments) -> Facts:
    """A person, what they are employed as and their links; absences if the key may read them."""
    parts = {"person": "getPerson", "employment": "getPersonEmployment"}
    parts |= {"org_links": "getPersonOrgLinks"}
    asked = {name: OperationCall(EXPOSED[one], path=arguments) for name, one in parts.items()}
    if "time_off:read" in running.key_of(context).scopes:
        today = _today_of_person(context, arguments["person_id"])
        period = {"from": today.isoformat(), "to": (today + AHEAD).isoformat()}
        query = {**period, "person_id": arguments["person_id"], "limit": MAX_AHEAD}
        asked["time_off_balance"] = OperationCall(
            EXPOSED["getPersonTimeOffBalance"], path=arguments
        )
        asked["upcoming_time_off"] = OperationCall(EXPOSED["listTimeOff"], query=query)
    bodies, rows = running.several(context, list(asked.values()))
    found = {name: body["data"] for name, body in zip(asked, bodies, strict=True)}
    empty = dict.fromkeys(("time_off_balance", "upcoming_time_off"))
    return Facts({**empty, **found}, row_count=rows)


def _today_of_person(context: ToolContext, person_id: str) -> date:
    with running.failures(context):
        organization_id = callers.records_of(running.key_of(context))
        row = access.row(Person, organization_id, person_id, "organization", "work_place")
    return days.today(row.organization, row.work_place)


def list_time_off(context: ToolContext, arguments: Arguments) -> Facts:
    return running.one(context, OperationCall(EXPOSED["listTimeOff"], query=arguments))


def get_time_off(context: ToolContext, arguments: Arguments) -> Facts:
    return running.one(context, OperationCall(EXPOSED["getTimeOff"], path=arguments))


def list_reference(context: ToolContext, arguments: Arguments) -> Facts:
    operation = EXPOSED[REFERENCE[arguments["kind"]]]
    return running.one(context, OperationCall(operation))


def list_api_operations(context: ToolContext, _arguments: Arguments) -> Facts:
    key = running.key_of(context)
    operations = [
        {
            **contract.summary(one),
            "is_permitted": _is_permitted(one, key),
        }
        for one in EXPOSED.values()
    ]
    return Facts({"operations": operations, "catalogue_version": catalogue_version()})


def _is_permitted(operation: Operation, key: KeyPrincipal) -> bool:
    if operation.is_read:
        return not operation.scope or operation.scope in key.scopes
    return writes.refusal(operation, key) is None


def get_api_operation(_context: ToolContext, arguments: Arguments) -> Facts:
    operation = contract.find(arguments["operation_id"])
    return Facts(
        {
            **contract.summary(operation),
            "path_params": contract.path_parameters(operation),
            "query": contract.query_parameters(operation),
            "body": contract.body(operation),
            "answer": contract.answer(operation),
        }
    )


def call_api_operation(context: ToolContext, arguments: Arguments) -> Facts:
    operation = contract.find(arguments["operation_id"])
    if not operation.is_read:
        message = f"{operation.id} changes records. Send it to prepare_api_write."
        raise ValidationFailure(message, field="operation_id")
    given = arguments.get("args", {})
    if "body" in given:
        raise ValidationFailure(f"{operation.id} reads: it takes no body.", field="args.body")
    asked = OperationCall(operation, given.get("pathParams", {}), given.get("query", {}))
    contract.require_path(operation, asked.path)
    found = running.one(context, asked)
    return Facts({"operation_id": operation.id, "answer": found.value}, row_count=found.row_count)


@cache
def catalogue_version() -> str:
    return contract.fingerprint(all_tools())


@cache
def all_tools() -> tuple[Tool, ...]:
    """Returns the tools; made when they are first asked for."""
    return (
        *_contract_tools(),
        *write_tools.tools(),
        _principal_tool(),
        *_people_tools(),
        *_absence_tools(),
        _reference_tool(),
    )


def _principal_tool() -> Tool:
    principal = contract.resource(EXPOSED["getApiPrincipal"])
    version = {"catalogue_version": TEXT}
    return tool(
        whoami,
        "Who am I",
        "Read what this connection is: the organization, the API key and its scopes, live records "
        "or the sandbox, today and the time zone, and the version of the catalogue of tools. "
        "Start here.",
        "",
        output={
            **principal,
            "properties": {**principal["properties"], **version},
            "required": [*principal["required"], *version],
        },
    )


def _people_tools() -> tuple[Tool, ...]:
    people = EXPOSED["listPeople"]
    return (
        tool(
            search_people,
            "Search people",
            "Find people by a part of a name or work email, or list all of them: job, department, "
            "manager, work place and dates. Send next_cursor as cursor for the next page. Home "
            "addresses, pay and other private data are never included.",
            people.scope,
            properties=contract.parameters(people, SEARCHED),
            output=contract.answer(people),
        ),
        tool(
            get_person,
            "Read a person",
            "Read one person by the id that search_people answered.",
            people.scope,
            **OF_A_PERSON,
            output=contract.answer(EXPOSED["getPerson"]),
        ),
        tool(
            get_person_context,
            "Read a person with their context",
            "Read one person with what they are employed as, their units and relationships and, if "
            "the key has time_off:read, what is left of their allowances and their absences of "
            "the next 90 days.",
            people.scope,
            **OF_A_PERSON,
            output=an_object(
                {
                    "person": contract.resource(EXPOSED["getPerson"]),
                    "employment": contract.resource(EXPOSED["getPersonEmployment"]),
                    "org_links": contract.resource(EXPOSED["getPersonOrgLinks"]),
                    "time_off_balance": {
                        "oneOf": [
                            contract.resource(EXPOSED["getPersonTimeOffBalance"]),
                            {"type": "null"},
                        ]
                    },
                    "upcoming_time_off": {
                        "type": ["array", "null"],
                        "items": contract.resource(EXPOSED["listTimeOff"]),
                    },
                }
            ),
        ),
    )


def _absence_tools() -> tuple[Tool, ...]:
    absences = EXPOSED["listTimeOff"]
    return (
        tool(
            list_time_off,
            "List time off",
            "List absences and requests, the latest first: of one person, of a status, or between "
            "two days. Who is out next week: status approved, with from and to. Why somebody is "
            "absent is never included.",
            absences.scope,
            properties=contract.parameters(absences, LISTED),
            output=contract.answer(absences),
            app=TIME_OFF_CALENDAR,
        ),
        tool(
            get_time_off,
            "Read a request for time off",
            "Read one absence or request by the id that list_time_off answered.",
            absences.scope,
            properties={"time_off_id": KEY},
            required=("time_off_id",),
            output=contract.answer(EXPOSED["getTimeOff"]),
        ),
    )


def _reference_tool() -> Tool:
    shapes = [
        contract.resource(EXPOSED[name])
        for name in (
            "listReferenceWorkPlaces",
            "listReferenceTimeOffCategories",
            "listReferenceCountries",
        )
    ]
    return tool(
        list_reference,
        "List reference data",
        "List what records refer to: countries, statuses, work types and places, document types, "
        "and the statuses and categories of time off. The names of categories are not included.",
        "reference:read",
        properties={"kind": {"type": "string", "enum": list(REFERENCE)}},
        required=("kind",),
        output=an_object({"data": {"type": "array", "items": {"anyOf": shapes}}}),
    )


def _contract_tools() -> tuple[Tool, ...]:
    listed = an_object({**DESCRIBED, "is_permitted": {"type": "boolean"}})
    details: dict[str, Any] = {
        name: {"type": "object"} for name in ("path_params", "query", "answer")
    }
    details["body"] = {"type": ["object", "null"]}
    return (
        tool(
            list_api_operations,
            "List operations",
            "List the operations of the HR API that are available here, and whether this "
            "connection may use each now.",
            "",
            output=an_object(
                {
                    "operations": {"type": "array", "items": listed},
                    "catalogue_version": TEXT,
                }
            ),
        ),
        tool(
            get_api_operation,
            "Read an operation",
            "Read the parameters of one operation, the body of one that changes something, and the "
            "schema of its answer.",
            "",
            properties={"operation_id": KEY},
            required=("operation_id",),
            output=an_object({**DESCRIBED, **details}),
        ),
        tool(
            call_api_operation,
            "Call an operation",
            "Call one operation that reads. get_api_operation says which parameters it takes.",
            "",
            properties={"operation_id": KEY, "args": ARGUMENTS},
            accepted={"operation_id": KEY, "args": ARGUMENTS_OR_BODY},
            required=("operation_id",),
            output=an_object({"operation_id": TEXT, "answer": {"type": "object"}}),
        ),
    )
