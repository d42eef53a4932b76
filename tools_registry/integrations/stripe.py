"""Stripe: what a client may ask for, and what an admin then has done.

A `request_*` tool reads at Stripe and files a billing request; nothing changes there. The
destructive tools carry one out once an admin has approved it, and never run over MCP.

Source: Stripe API reference (docs.stripe.com/api), at the version below. Amounts are in the
currency's minor unit, as Stripe counts them.
"""

import re
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from tools_registry.readable import day, money
from tools_registry.types import (
    Answer,
    Arguments,
    Connection,
    Facts,
    IntegrationFailure,
    Invalid,
    Json,
    NotFound,
    Run,
    ToolContext,
    ToolFailure,
    Toolset,
    Unauthorized,
    Vendor,
)

VERSION: Final = "2026-01-28.clover"
TEXT: Final = {"type": "string"}
DAY: Final = 86_400
LONGEST_TRIAL: Final = 730 * DAY  # from now (API reference, Update a subscription, trial_end)
NAMES: Final = ("id", "currency", "customer", "status")
PAID: Final = ("id", "amount", "amount_captured", "amount_refunded", "currency")
KINDS: Final = dict.fromkeys((*PAID, "trial_end"), int) | dict.fromkeys(NAMES, str)
OVER: Final = frozenset({"canceled", "incomplete_expired"})
LARGEST: Final = 99_999_999  # eight digits (API reference, Charges, amount)
UNPRINTABLE: Final = re.compile(r"[^\x20-\x7e\u00a1-\ufffd]|[\u2028-\u202e\u2066-\u2069]")
KEY: Final = re.compile(r"\b([sr]k|pk)_[A-Za-z0-9_*]+")


def _judge(answer: Answer) -> ToolFailure | None:
    """Stripe's error object in words of ours (API reference, Errors)."""
    if answer.is_success and isinstance(answer.value, dict):
        return None
    if answer.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return Unauthorized("Stripe refused the organization's key, or the key may not do this.")
    error = _part(answer.value, "error")
    if answer.status == HTTPStatus.NOT_FOUND or error.get("code") == "resource_missing":
        return _absent()
    told = _printable(error.get("message")) or "no reason given"
    message = f"Stripe answered {answer.status}: {told}"
    return IntegrationFailure(message, upstream_status=answer.status)


def _waits(answer: Answer) -> float | None:
    """When to ask again, in seconds: Stripe says itself whether (docs, Advanced error handling)."""
    told = answer.headers.get("stripe-should-retry")
    busy = answer.status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.CONFLICT}
    if told == "false" or not (busy or told == "true"):
        return None
    after = answer.headers.get("retry-after", "")
    return float(after) if re.fullmatch(r"[0-9]{1,6}", after) else 1.0


def _check(vendor: Vendor) -> str:
    is_live = vendor.send("GET", "/v1/balance").value.get("livemode")
    return f"Stripe, {'live' if is_live else 'test'} mode"


TOOLSET: Final = Toolset(
    integration="stripe",
    title="Stripe",
    connection=Connection(
        base_url="https://api.stripe.com",
        credential="Secret or restricted API key",
        credential_help=(
            "Stripe dashboard, Developers, API keys. A restricted key (rk_...) is enough: read on "
            "Balance, Charges and PaymentIntents; write on Refunds, Subscriptions and Customers."
        ),
        check=_check,
        headers={"Stripe-Version": VERSION},
        idempotency_header="Idempotency-Key",
        judge=_judge,
        waits=_waits,
    ),
)


def _id(prefixes: str, description: str) -> dict[str, Json]:
    return TEXT | {"pattern": f"^({prefixes})_[A-Za-z0-9_]{{1,200}}$", "description": description}


def _amount(description: str) -> dict[str, Json]:
    return {"type": "integer", "minimum": 1, "maximum": LARGEST, "description": description}


def _object(properties: Mapping[str, Json], *optional: str) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


WHY: Final = TEXT | {"maxLength": 500, "description": "Why, for the admin who decides."}
SUBSCRIPTION: Final = _id("sub", "The subscription's id, sub_...")
CHARGE: Final = _id("ch|py", "The charge's id, ch_... or py_...")
CUSTOMER: Final = _id("cus", "The customer's id, cus_...; left out, the customer in question.")
CURRENCY: Final = TEXT | {"pattern": "^[a-z]{3}$", "description": "ISO 4217, such as usd."}
REASON: Final = TEXT | {
    "enum": ["duplicate", "fraudulent", "requested_by_customer"],
    "description": "What Stripe is told. fraudulent also blocks the card and the address there.",
}
AT_PERIOD_END: Final = {
    "type": "boolean",
    "description": "True (the default): paid time is left to run. False: it ends at once.",
}
FILED: Final = _object({"request_id": TEXT, "status": TEXT, "summary": TEXT})
DONE: Final = _object({"id": TEXT, "status": TEXT})
DAYS: Final = _amount("Days beyond the end that is planned now.") | {"maximum": 730}
ASKS: Final = {"output_schema": FILED, "mutates": True, "open_world": True}
PERFORMS: Final = {**ASKS, "output_schema": DONE, "destructive": True}


def _tool(
    title: str, description: str, properties: Mapping[str, Json], *optional: str, **more: Any
) -> Callable[[Run], Run]:
    schema = _object(properties, *optional)
    return TOOLSET.tool(title=title, description=description, input_schema=schema, **more)


@_tool(
    "Request a refund",
    "Ask an admin to refund a payment in full or in part. Nothing is refunded until they approve; "
    "the answer says what they will read. Amounts are in the minor unit: 2000 is 20.00 USD, 500 "
    "is 500 JPY.",
    {
        "payment": _id("ch|py|pi", "The charge (ch_..., py_...) or payment intent (pi_...)."),
        "amount": _amount("How much; left out, all that is not refunded yet."),
        "reason": REASON,
        "why": WHY,
    },
    "amount",
    "reason",
    "why",
    **ASKS,
)
def request_refund(context: ToolContext, arguments: Arguments) -> Facts:
    charge = _charge(context, arguments["payment"])
    left = _refundable(charge)
    amount = arguments.get("amount", left)
    if amount > left:
        told = f"Only {money(left, charge['currency'])} of it can still be refunded."
        raise _unfit("amount", told, f"must be at most {left}")
    asked = {"charge": charge["id"], "amount": amount, "currency": charge["currency"]}
    if "reason" in arguments:
        asked["reason"] = arguments["reason"]
    told, paid = (money(part, charge["currency"]) for part in (amount, charge["amount"]))
    summary = f"Refund {told} of {charge['id']} ({paid} paid)"
    return _filed(context, "refund", asked, summary, arguments.get("why", ""))


@_tool(
    "Request a cancellation",
    "Ask an admin to cancel a subscription, at the end of the paid period unless told otherwise. "
    "It runs on until they approve.",
    {"subscription": SUBSCRIPTION, "at_period_end": AT_PERIOD_END, "why": WHY},
    "at_period_end",
    "why",
    **ASKS,
)
def request_cancellation(context: ToolContext, arguments: Arguments) -> Facts:
    row = _subscription(context, arguments["subscription"])
    if row.get("status") in OVER:
        raise _unfit("subscription", "It is over already.", "is cancelled already")
    later = arguments.get("at_period_end", True)
    if later and row.get("cancel_at_period_end"):
        raise _unfit("subscription", "It ends with its period already.", "is cancelled already")
    when = f"at the end of its period{_period_end(row)}" if later else "at once"
    asked = {"subscription": row["id"], "at_period_end": later}
    summary = f"Cancel {row['id']} of {row['customer']} {when}"
    return _filed(context, "cancel_subscription", asked, summary, arguments.get("why", ""))


@_tool(
    "Request a credit",
    "Ask an admin to credit a customer's balance, which Stripe takes off their next invoices. "
    "Nothing is credited until they approve. Amounts are in the minor unit: 2000 is 20.00 USD.",
    {"customer": CUSTOMER, "amount": _amount("How much."), "currency": CURRENCY, "why": WHY},
    "customer",
    "why",
    **ASKS,
)
def request_credit(context: ToolContext, arguments: Arguments) -> Facts:
    customer = _customer(context, _meant(context, arguments))
    used, currency = customer.get("currency"), arguments["currency"]
    if used and used != currency:  # a customer has one from their first invoice on
        raise _unfit("currency", f"This customer pays in {used.upper()}.", f"must be {used}")
    asked = {"customer": customer["id"], "amount": arguments["amount"], "currency": currency}
    summary = f"Credit {customer['id']} with {money(arguments['amount'], currency)}"
    return _filed(context, "credit_customer", asked, summary, arguments.get("why", ""))


@_tool(
    "Extend a trial",
    "Ask an admin to let the running trial of a subscription end later, by a number of days. It "
    "ends as planned until they approve.",
    {"subscription": SUBSCRIPTION, "days": DAYS, "why": WHY},
    "why",
    **ASKS,
)
def extend_trial(context: ToolContext, arguments: Arguments) -> Facts:
    row = _subscription(context, arguments["subscription"])
    planned = row.get("trial_end")
    if row.get("status") != "trialing" or not isinstance(planned, int):
        raise _unfit("subscription", "It is not in a trial.", "is not in a trial")
    end = planned + arguments["days"] * DAY
    if end > time.time() + LONGEST_TRIAL:
        raise _unfit("days", "No trial may end more than two years from now.", "is too many")
    asked = {"subscription": row["id"], "trial_end": end}
    summary = f"Extend the trial of {row['id']} of {row['customer']} to {day(end)}"
    return _filed(context, "set_trial_end", asked, summary, arguments.get("why", ""))


@_tool(
    "Refund",
    "Refund a charge, as an approved request says.",
    {"charge": CHARGE, "amount": _amount("How much."), "currency": CURRENCY, "reason": REASON},
    "reason",
    **PERFORMS,
)
def refund(context: ToolContext, arguments: Arguments) -> Facts:
    _charge(context, arguments["charge"])
    form = {"charge": arguments["charge"], "amount": str(arguments["amount"])}
    if "reason" in arguments:
        form["reason"] = arguments["reason"]
    return _done(_post(context, "/v1/refunds", form))


@_tool(
    "Cancel a subscription",
    "Cancel a subscription, as an approved request says.",
    {"subscription": SUBSCRIPTION, "at_period_end": AT_PERIOD_END},
    **PERFORMS,
)
def cancel_subscription(context: ToolContext, arguments: Arguments) -> Facts:
    row = _subscription(context, arguments["subscription"])
    if row.get("status") == "canceled":
        return _done(row)  # as after an attempt whose answer got lost
    path = _path("subscriptions", row["id"])
    if arguments["at_period_end"]:
        return _done(_post(context, path, {"cancel_at_period_end": "true"}))
    # A key has no effect on DELETE (API reference, Idempotent requests).
    return _done(context.vendor.send("DELETE", path).value)


@_tool(
    "Credit a customer",
    "Credit a customer's balance, as an approved request says.",
    {"customer": CUSTOMER, "amount": _amount("How much."), "currency": CURRENCY},
    **PERFORMS,
)
def credit_customer(context: ToolContext, arguments: Arguments) -> Facts:
    customer = _customer(context, arguments["customer"])
    # What is negative lowers what the customer owes (Customer balance transactions, amount).
    form = {"amount": str(-arguments["amount"]), "currency": arguments["currency"]}
    return _done(_post(context, _path("customers", customer["id"], "/balance_transactions"), form))


@_tool(
    "Set the end of a trial",
    "Move the end of a subscription's trial, as an approved request says.",
    {"subscription": SUBSCRIPTION, "trial_end": {"type": "integer", "minimum": 1}},
    **PERFORMS,
)
def set_trial_end(context: ToolContext, arguments: Arguments) -> Facts:
    row = _subscription(context, arguments["subscription"])
    form = {"trial_end": str(arguments["trial_end"]), "proration_behavior": "none"}
    return _done(_post(context, _path("subscriptions", row["id"]), form))


def _charge(context: ToolContext, payment: str) -> dict[str, Any]:
    """A charge, by its id or as the latest of a payment intent."""
    if not payment.startswith("pi_"):
        return _owned(context, _get(context, _path("charges", payment), *PAID))
    intent = _get(context, _path("payment_intents", payment), "id", expand="latest_charge")
    charge = _part(intent, "latest_charge")
    if not _is_sound(charge, *PAID):
        raise _unfit("payment", "Nothing was paid on this payment intent.", "has no charge")
    return _owned(context, charge)


def _refundable(charge: Mapping[str, Any]) -> int:
    if charge.get("status") != "succeeded" or not charge.get("captured"):
        raise _unfit("payment", "This payment did not go through.", "is not paid")
    if charge.get("disputed"):
        raise _unfit("payment", "This payment is disputed.", "is disputed")
    left: int = charge["amount_captured"] - charge["amount_refunded"]
    if left <= 0:
        raise _unfit("payment", "All of it is refunded already.", "is refunded already")
    return left


def _subscription(context: ToolContext, subscription: str) -> dict[str, Any]:
    return _owned(context, _get(context, _path("subscriptions", subscription), "id", "customer"))


def _customer(context: ToolContext, customer: str) -> dict[str, Any]:
    found = _get(context, _path("customers", customer), "id")
    if found.get("deleted"):
        raise _absent()
    return _owned(context, found | {"customer": found["id"]})


def _owned(context: ToolContext, row: dict[str, Any]) -> dict[str, Any]:
    """What belongs to the bound customer; of somebody else's no more is said than of nothing."""
    if context.customer is not None and row.get("customer") != _bound(context):
        raise _absent()
    return row


def _meant(context: ToolContext, arguments: Arguments) -> str:
    wanted = str(arguments.get("customer", ""))
    if wanted and context.customer is not None and wanted != _bound(context):
        raise _unfit("customer", "That is not the bound customer.", "is not the bound customer's")
    return wanted or _bound(context)


def _bound(context: ToolContext) -> str:
    found = context.customer.vendor_ids.get("stripe", "") if context.customer else ""
    if not found:
        raise _unfit("customer", "It is not known which Stripe customer is meant.", "is required")
    return found


def _filed(context: ToolContext, perform: str, asked: Arguments, summary: str, why: str) -> Facts:
    filed = context.billing.request(perform=perform, arguments=asked, summary=summary, why=why)
    return Facts({"request_id": filed.id, "status": filed.status, "summary": filed.summary})


def _get(context: ToolContext, path: str, *needed: str, expand: str = "") -> dict[str, Any]:
    """What is there; a look-up that lacks what we go by is no ground to act on."""
    query = {"expand[]": expand} if expand else {}
    found: dict[str, Any] = context.vendor.send("GET", path, query=query).value
    if not _is_sound(found, *needed):
        raise IntegrationFailure("Stripe's answer is not what its reference says.")
    return found


def _is_sound(found: Mapping[str, Any], *needed: str) -> bool:
    got = {name: value for name, value in found.items() if value is not None}
    return {*needed} <= {*got} and all(isinstance(v, KINDS.get(k, object)) for k, v in got.items())


def _post(context: ToolContext, path: str, form: Mapping[str, str]) -> Any:
    return context.vendor.send("POST", path, form=form, idempotency_key=context.call_id).value


def _done(changed: Mapping[str, Any]) -> Facts:
    status = _printable(changed.get("status")) or "done"
    return Facts({"id": _printable(changed.get("id")), "status": status})


def _path(folder: str, name: str, rest: str = "") -> str:
    return f"/v1/{folder}/{quote(name, safe='')}{rest}"


def _part(value: Json, name: str) -> dict[str, Any]:
    part = value.get(name) if isinstance(value, dict) else None
    return part if isinstance(part, dict) else {}


def _period_end(subscription: Mapping[str, Any]) -> str:
    """Items have periods of their own since 2025-03-31; the last to end is when it ends."""
    found = _part(subscription, "items").get("data")
    items = found if isinstance(found, list) else []
    ends = [_part({"": one}, "").get("current_period_end") for one in items]
    known = [end for end in ends if isinstance(end, int)]
    return f", {day(max(known))}" if known else ""


def _printable(told: Json) -> str:
    """A vendor's words, short and without what could be a key or a control character."""
    return KEY.sub("(a key)", UNPRINTABLE.sub(" ", str(told or "")))[:300]


def _absent() -> NotFound:
    return NotFound("Stripe has nothing under this id.")


def _unfit(field: str, message: str, reason: str) -> Invalid:
    return Invalid(message, field=field, reason=reason)
