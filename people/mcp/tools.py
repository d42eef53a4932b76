"""The tools of the HR endpoint: each runs operations of the HR API and projects their answers."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final
from uuid import UUID

from rest_framework.exceptions import ValidationError

from oauth import server_keys
from oauth.principal import Unauthenticated
from people import changes
from people.access import NotFound
from people.api import callers, errors
from people.api.errors import ApiError
from people.api.operation import Call, Operation
from people.api.paging import DEFAULT_LIMIT
from people.mcp import contract, projections
from tools_registry.api import Arguments, Facts, Invalid, Tool, ToolContext, ToolFailure
from tools_registry.api import NotFound as NoSuchRecord

SEARCHED = ("search", "limit", "cursor")


class Refused(ToolFailure):
    """An operation refused the call for what no correction of arguments changes."""

    kind = "refused"


class KeyEnded(ToolFailure):
    """The key of the call was revoked, or has expired, while the call ran."""

    kind = "token_ended"


FAILURES: Final[Mapping[str, type[ToolFailure]]] = {
    "invalid_request": Invalid,
    "not_found": NoSuchRecord,
}


def run(operation: Operation, context: ToolContext, query: Mapping[str, Any]) -> Facts:
    """Returns the projected answer of an operation. Raises ToolFailure."""
    try:
        key = server_keys.active(UUID(context.credential_id))
        found = operation.run(Call(callers.records_of(key), key, query=_checked(operation, query)))
    except Unauthenticated:
        raise KeyEnded("The key is no longer valid.") from None
    except (ApiError, NotFound, changes.Refused, ValidationError) as problem:
        raise _failure(errors.of(problem, context.call_id)) from None
    return Facts(projections.answer(operation, found.body), row_count=found.rows)


def _checked(operation: Operation, query: Mapping[str, Any]) -> Mapping[str, Any]:
    if operation.query is None:
        return {}
    shape = operation.query(data=dict(query))
    shape.is_valid(raise_exception=True)
    found: Mapping[str, Any] = shape.validated_data
    return found


def _failure(problem: ApiError) -> ToolFailure:
    """The failure of a tool for a refusal of the HR API; `reason` is its code."""
    field = problem.details[0].field if problem.details else ""
    message = problem.details[0].issue if problem.details else problem.message
    kind = FAILURES.get(problem.code, Refused)
    return kind(message, field=field, reason=problem.code)


def whoami(context: ToolContext, _arguments: Arguments) -> Facts:
    found = run(contract.EXPOSED["getApiPrincipal"], context, {})
    value: Any = found.value
    return Facts({**value["data"], "catalogue_version": catalogue_version()})


def search_people(context: ToolContext, arguments: Arguments) -> Facts:
    return run(contract.EXPOSED["listPeople"], context, arguments)


@cache
def catalogue_version() -> str:
    return contract.fingerprint(all_tools())


@cache
def all_tools() -> tuple[Tool, ...]:
    """Returns the tools; made when they are first asked for, since their schemas take a second."""
    principal = contract.resource(contract.EXPOSED["getApiPrincipal"])
    people = contract.EXPOSED["listPeople"]
    return (
        Tool(
            name="whoami",
            title="Who am I",
            description=(
                "Read what this connection is: the organization, the API key and its scopes, live "
                "records or the sandbox, and the version of the catalogue of tools. Start here."
            ),
            input_schema={"type": "object", "properties": {}, "additionalProperties": False},
            output_schema={
                **principal,
                "properties": {**principal["properties"], "catalogue_version": {"type": "string"}},
                "required": [*principal["required"], "catalogue_version"],
            },
            run=whoami,
            scope="",
            read_only=True,
        ),
        Tool(
            name="search_people",
            title="Search people",
            description=(
                "Find people by a part of a name or work email, or list all of them: job, "
                f"department, manager, work place and dates. A page has {DEFAULT_LIMIT} people "
                "unless limit says otherwise; send next_cursor as cursor for the next one. Home "
                "addresses, pay and other private data are never included."
            ),
            input_schema={
                "type": "object",
                "properties": contract.parameters(people, SEARCHED),
                "additionalProperties": False,
            },
            output_schema=contract.answer(people),
            run=search_people,
            scope=people.scope,
            read_only=True,
        ),
    )
