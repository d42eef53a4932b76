"""The two tools that change HR records: what they take and answer. `writes` runs them."""

from typing import Any, Final

from people.mcp import contract, prepared, writes
from people.mcp.declaring import KEY, PATH_PARAMETERS, QUERY, TEXT, an_object, tool
from people.mcp.running import OperationCall
from tools_registry.api import Arguments, Facts, Tool, ToolContext, ValidationFailure
from tools_registry.api.apps import APPROVAL_CARD

ARGUMENTS: Final = {
    "type": "object",
    "properties": {
        "pathParams": PATH_PARAMETERS,
        "query": QUERY,
        "body": {"type": "object", "description": "get_api_operation has its schema."},
    },
    "additionalProperties": False,
}
TOKEN: Final = {"type": "string", "minLength": 1, "maxLength": prepared.MAX_CHARACTERS}
PAYLOAD: Final = an_object(
    {"operation_id": TEXT, "method": TEXT, "path": TEXT, "body": {"type": "object"}}
)
# A field that is not answered over MCP has no `from`.
CHANGE: Final = {
    "type": "object",
    "properties": {"field": TEXT, "from": {}, "to": {}},
    "required": ["field", "to"],
}
PERSON: Final = {"oneOf": [an_object({"id": TEXT, "display_name": TEXT}), {"type": "null"}]}


def prepare_api_write(context: ToolContext, arguments: Arguments) -> Facts:
    operation = contract.find(arguments["operation_id"])
    if operation.is_read:
        message = f"{operation.id} reads. Send it to call_api_operation."
        raise ValidationFailure(message, field="operation_id")
    given = arguments.get("args", {})
    path = given.get("pathParams", {})
    contract.require_path(operation, path)
    return writes.prepare(
        context, OperationCall(operation, path, given.get("query", {}), given.get("body", {}))
    )


def commit_api_write(context: ToolContext, arguments: Arguments) -> Facts:
    return writes.commit(context, arguments["confirmation_token"])


def tools() -> tuple[Tool, ...]:
    prepared_change: dict[str, Any] = {
        "confirmation_token": TEXT,
        "expires_at": TEXT,
        "frozen_payload": PAYLOAD,
        "difference": {"type": "array", "items": CHANGE},
        "person": PERSON,
    }
    committed = {
        "operation_id": TEXT,
        "answer": {"type": "object"},
        "is_repeated": {"type": "boolean"},
    }
    return (
        tool(
            prepare_api_write,
            "Prepare a change",
            "Check one operation that changes records, such as createTimeOff, and read what it "
            "would change. Nothing is changed yet. Show the person the difference, then send "
            "confirmation_token to commit_api_write within five minutes.",
            writes.SCOPE,
            properties={"operation_id": KEY, "args": ARGUMENTS},
            required=("operation_id",),
            output=an_object(prepared_change),
            app=APPROVAL_CARD,
        ),
        tool(
            commit_api_write,
            "Commit a change",
            "Make a change that prepare_api_write has prepared. The person is asked to approve it "
            "first; without their approval nothing is changed. Do not try again when they decline.",
            writes.SCOPE,
            mutates=True,
            properties={"confirmation_token": TOKEN},
            required=("confirmation_token",),
            output=an_object(committed),
        ),
    )
