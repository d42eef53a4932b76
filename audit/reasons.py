"""Why a call was refused or failed, and how to change that, for each reason of an audit row."""

from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from audit.models import ActionExecution


@dataclass(frozen=True, slots=True)
class Reason:
    """`what` happened, and the `remedy`, as sentences with names of columns in braces."""

    what: str | Promise
    remedy: str | Promise = ""


REASONS: Final[dict[str, Reason]] = {
    "feature_disabled": Reason(
        _("The MCP server is turned off for the organization."),
        _("Turn the MCP server on in the organization's switches."),
    ),
    "destructive_blocked": Reason(
        _("The action is destructive, and destructive actions are never available over MCP."),
        _("No switch and no scope allows it. Use the vendor's own pages."),
    ),
    "not_connected": Reason(
        _("The integration {integration} is not connected, or its connection fails."),
        _("Connect {integration} in the organization's switches."),
    ),
    "integration_disabled": Reason(
        _("Actions mode of {integration} is turned off."),
        _("Turn Actions mode of {integration} on in the organization's switches."),
    ),
    "agent_disabled": Reason(
        _("The action {action} is not enabled on the Ask AI agent."),
        _("Turn {tool} on in the organization's switches."),
    ),
    "scope_denied": Reason(
        _("The token lacks {scope}."),
        _("Ask the user to reconnect and approve {scope}."),
    ),
    "read_only": Reason(
        _("The tool changes something, and the page “Ask your organization” only reads."),
        _("Call {tool} from an MCP client."),
    ),
    "grant_ended": Reason(
        _("The person who requested this has left, or their connection was ended."),
        _("Ask them to connect again and to send a new request."),
    ),
    "token_ended": Reason(
        _("The token ended while the call waited."),
        _("The client refreshes its token and calls again. If it was revoked, connect again."),
    ),
    "server_not_confirmed": Reason(
        _("The API's description sends {tool} to a server that no admin has confirmed."),
        _("Confirm the server on the page of the project."),
    ),
    "tool_changed": Reason(
        _("{tool} has changed, and waits for a review; or it changed while the call waited."),
        _("Review the tool on the page of its project, or call it again."),
    ),
    "rate_limited": Reason(
        _("The rate limit {detail} was reached."),
        _("Wait and call again, or raise the limit."),
    ),
    "binding_rejected": Reason(
        _("The customer that the call was bound to was not accepted."),
        _("Check that the customer exists in this organization."),
    ),
    "validation": Reason(
        _("The arguments are not valid."),
        _("The client must send arguments that match the tool's schema."),
    ),
    "tool_not_found": Reason(
        _("There is no tool of this name."),
        _("The client should list the tools again."),
    ),
    "resource_not_found": Reason(_("There is no resource with this URI.")),
    "prompt_not_found": Reason(_("There is no prompt of this name.")),
    "not_found": Reason(_("The tool found nothing that matches.")),
    "unauthorized": Reason(
        _("{integration} refused the organization's credential."),
        _("Check the connection of {integration}, or connect it again."),
    ),
    "integration": Reason(
        _("{integration} failed or could not be reached."),
        _("Call again later. If it fails repeatedly, check the connection of {integration}."),
    ),
    "result_too_large": Reason(
        _("The result was too large."), _("Ask for less at once, for example with a filter.")
    ),
    "timeout": Reason(
        _("The tool took longer than HALO_DATA_SECONDS."),
        _("Ask for a shorter period, or with more filters."),
    ),
    "busy": Reason(
        _("Too many calls waited for the same API. Nothing was sent."),
        _("Call again in a moment. If it happens often, the API is slow."),
    ),
    "too_many_requests": Reason(
        _("Too many calls were running at once."), _("Call again in a moment.")
    ),
    "internal": Reason(
        _("The tool failed on the server."),
        _("Look for the request id in the server's log."),
    ),
    "not_answered": Reason(
        _("The client was asked a question and did not answer."),
        _("Call again and answer the question in the client."),
    ),
    "missing_capability": Reason(
        _("The tool has to ask a question, and the client cannot show one."),
        _("Use a client that supports elicitation."),
    ),
    "declined": Reason(_("The person declined to answer the client's question.")),
    "approval_required": Reason(
        _("The policy of {tool} requires an approval. The request waits for a decision."),
        _("Ask an approver to decide the request."),
    ),
    "policy_denied": Reason(
        _("The policy of the project denies {tool}."),
        _("Change the policy of the project, if the call is to be allowed."),
    ),
    "approval_rejected": Reason(
        _("An approver rejected the request for this call."),
        _("Read the reason on the page of the request. The call can be requested again later."),
    ),
    "approval_failed": Reason(
        _("The request for this call was approved, and the call failed."),
        _("Read on the page of the request what happened before requesting the call again."),
    ),
    "document_changed": Reason(
        _("The OpenAPI document of the project changed after the request was made."),
        _("Ask the requester to call {tool} again, which makes a new request."),
    ),
    "request_changed": Reason(
        _("What the approved request would send has changed since it was made."),
        _("Ask the requester to call {tool} again, which makes a new request."),
    ),
    "quota_exceeded": Reason(
        _("The organization has used all calls of this month."),
        _("Wait for the next month, or give the organization a larger plan."),
    ),
    "invalid_request": Reason(
        _("A parameter or a field of a request to the HR API was wrong."),
        _("The program has to send what the contract of the API names."),
    ),
    "idempotency_required": Reason(
        _("A change of HR records came without an Idempotency-Key."),
        _("The program has to send a new key with each change."),
    ),
    "idempotency_conflict": Reason(
        _("An Idempotency-Key was used for another change within a day."),
        _("The program has to send a new key with each change."),
    ),
    "permission_denied": Reason(
        _("The API key lacks a scope that the operation needs."),
        _("Create a key that has the scope, and revoke this one."),
    ),
    "conflict": Reason(
        _("A change of HR records contradicts another record, or the state of its own."),
    ),
    "precondition_failed": Reason(
        _("The record had changed since the program read it."),
        _("The program has to read the record again and decide on its present version."),
    ),
    "precondition_required": Reason(
        _("A change of HR records came without the version that it is about."),
        _("The program has to send the ETag of the record as If-Match."),
    ),
    "payload_too_large": Reason(_("The body of a request to the HR API was too large.")),
    "unsupported_media_type": Reason(
        _("The body of a request to the HR API was no JSON."),
        _("The program has to send application/json."),
    ),
    "method_not_allowed": Reason(_("An address of the HR API does not accept the method.")),
    "internal_error": Reason(
        _("An operation of the HR API failed."),
        _("The log of the server has the error under the id of the request."),
    ),
    "unavailable": Reason(
        _("Two requests changed the same HR records, or the database did not answer."),
        _("The program may send the request again."),
    ),
    "refused": Reason(_("The HR API refused a call that a tool made.")),
    "input_required": Reason(_("The tool asked a question. The next round has a row of its own.")),
    "cancelled": Reason(_("The caller cancelled the call or disconnected.")),
    "call_in_progress": Reason(
        _("Another call with the same idempotency key was in progress."),
        _("The client may send the call again in a moment."),
    ),
    "outcome_unknown": Reason(
        _("The database connection was lost while {tool} was changing something."),
        _("Check whether the change was made before calling again."),
    ),
    "interrupted": Reason(
        _("The server stopped while the call was running."),
        _("Check at the vendor whether the change was made before calling again."),
    ),
}
MALFORMED: Final = Reason(
    _("The request was malformed or named an unknown method."),
    _("The client must send a request that its MCP revision allows."),
)
UNKNOWN: Final = Reason("")


def explanation(row: ActionExecution) -> Reason:
    """What happened to this call and the remedy, with its own names filled in."""
    if row.reason.startswith("rpc_"):
        return MALFORMED
    found = REASONS.get(row.reason, UNKNOWN)
    names = {
        "integration": row.integration or _("the other side"),
        "action": row.action or row.tool,
        "tool": row.tool or row.method,
        "detail": row.detail,
        "scope": _scope(row),
    }
    return Reason(str(found.what).format(**names), str(found.remedy).format(**names))


def _scope(row: ActionExecution) -> str:
    if row.integration and row.action:
        return f"actions:{row.integration}:{row.action}"
    return str(_("the scope of {tool}")).format(tool=row.tool or row.method)
