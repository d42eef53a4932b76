"""A client that prepares changes of HR records and commits them, at 2026-07-28."""

from datetime import date
from typing import Any

from mcp_protocol.revisions import Revision
from people.models import Person
from tests.drivers.elicitation_client import EVERYTHING, accept
from tests.drivers.mcp import McpClient, Reply
from tests.people.conftest import Office
from tests.people.mcp.endpoint import failure

MODERN = Revision.V2026_07_28
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
MONDAY, FRIDAY = date(2026, 6, 1), date(2026, 6, 5)
DECLINE = {"action": "decline"}


def ask(
    mcp: McpClient, tool: str, given: Any, capabilities: Any = EVERYTHING, **more: Any
) -> Reply:
    params = {"name": tool, "arguments": given, "_meta": {CAPABILITIES: capabilities}}
    return mcp.request("tools/call", {**params, **more})


def prepare(mcp: McpClient, operation: str, body: Any = None, **path: str) -> Reply:
    args = {"pathParams": path} | ({} if body is None else {"body": body})
    return ask(mcp, "prepare_api_write", {"operation_id": operation, "args": args})


def booking(office: Office, person: Person, **changes: Any) -> dict[str, Any]:
    dates = {"start_date": MONDAY.isoformat(), "end_date": FRIDAY.isoformat()}
    return {"person_id": person.pk, "category_id": office.leave.pk, **dates, **changes}


def ask_for_approval(mcp: McpClient, token: str) -> Reply:
    """The first round of a commit, which asks."""
    reply = ask(mcp, "commit_api_write", {"confirmation_token": token})
    assert reply.result["resultType"] == "input_required", reply.body
    return reply


def answer_request(mcp: McpClient, token: str, first: Reply, answer: Any) -> Reply:
    more = {"requestState": first.result["requestState"], "inputResponses": {"approval": answer}}
    return ask(mcp, "commit_api_write", {"confirmation_token": token}, **more)


def commit(mcp: McpClient, token: str, answer: Any = None) -> Reply:
    """Both rounds of a commit."""
    return answer_request(mcp, token, ask_for_approval(mcp, token), answer or accept(approve=True))


def question(first: Reply) -> str:
    (request,) = first.result["inputRequests"].values()
    assert list(request["params"]["requestedSchema"]["properties"]) == ["approve"]
    return str(request["params"]["message"])


def token_of(reply: Reply) -> str:
    return str(reply.facts["confirmation_token"])


def reason(reply: Reply) -> str:
    return str(failure(reply)["reason"])
