"""Calls that are bound to a customer, and the error when they cannot be."""

from typing import Any

from audit.models import ActionExecution
from tests.drivers.mcp import McpClient, Reply
from workspace.models import Customer, new_customer_id

Meta = dict[str, Any]


def bind_id(customer: Customer | str) -> Meta:
    return {"bound_end_user_id": customer if isinstance(customer, str) else customer.pk}


def bind_email(email: Any) -> Meta:
    return {"bound_email": email}


def whom(mcp: McpClient, meta: Meta) -> Any:
    """The customer that the tool was given."""
    return mcp.call("whom", meta=meta).facts


def row() -> ActionExecution:
    return ActionExecution.objects.latest("id")


def assert_rejected(reply: Reply) -> Reply:
    """The reply, once it and the audit row tell that the binding was rejected."""
    assert (reply.status, reply.error) == (
        200,
        {
            "code": -32602,
            "message": "The bound customer does not exist in this organization.",
            "data": {"reason": "binding_rejected", "layer": "binding"},
        },
    )
    kept = row()
    assert (kept.outcome, kept.reason, kept.layer, kept.bound_customer_id) == (
        "validation_failed",
        "binding_rejected",
        "binding",
        "",
    )
    return reply


def bind_forged_id(*_whoever: object) -> Meta:
    """An id that looks right and was never given out."""
    return bind_id(new_customer_id())
