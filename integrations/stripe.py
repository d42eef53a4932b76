"""Stripe: `request_*` tools file billing requests; destructive tools run the approved ones.

Source: Stripe API reference (docs.stripe.com/api), at the version below. Amounts are in the
currency's minor unit.
"""

import re
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from tools_registry.api import (
    Arguments,
    Facts,
    IntegrationFailure,
    Json,
    NotFound,
    Run,
    ToolContext,
    ToolFailure,
    Toolset,
    Unauthorized,
    ValidationFailure,
    Vendor,
    VendorConnection,
    VendorResponse,
    add_sentence,
)
from tools_registry.api.apps import APPROVAL_CARD
from tools_registry.api.readable import day, money, printable

VERSION: Final = "2026-01-28.clover"
TEXT: Final = {"type": "string"}
DAY: Final = 86_400
MAX_TRIAL: Final = 730 * DAY  # from now (API reference, Update a subscription, trial_end)
NAMES: Final = ("id", "currency", "customer", "status")
PAID: Final = ("id", "amount", "amount_captured", "amount_refunded", "currency")
KINDS: Final = dict.fromkeys((*PAID, "trial_end"), int) | dict.fromkeys(NAMES, str)
OVER: Final = frozenset({"canceled", "incomplete_expired"})
LARGEST: Final = 99_999_999  # eight digits (API reference, Charges, amount)
REFUSED_VALUES: Final = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})


def _judge(answer: VendorResponse) -> ToolFailure | None:
    """Stripe's error object in words of ours (API reference, Errors)."""
    if answer.is_success and isinstance(answer.value, dict):
        return None
    if answer.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return Unauthorized("Stripe refused the organization's key, or the key may not do this.")
    error = _part(answer.value, "error")
    if answer.status == HTTPStatus.NOT_FOUND or error.get("code") == "resource_missing":
        return _absent(printable(error.get("message")))
    reason = printable(error.get("message")) or "no reason given"
    if answer.status in REFUSED_VALUES and error.get("type") == "invalid_request_error":
        field = printable(error.get("param")) or "arguments"
        return ValidationFailure(f"Stripe refused the values: {reason}", field=field, reason=reason)
    message = f"Stripe answered {answer.status}: {reason}"
    return IntegrationFailure(message, upstream_status=answer.status)


def _waits(answer: VendorResponse) -> float | None:
    """When to ask again, in seconds: Stripe says itself whether (docs, Advanced error handling)."""
    should_retry = answer.headers.get("stripe-should-retry")
    busy = answer.status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.CONFLICT}
    if should_retry == "false" or not (busy or should_retry == "true"):
        return None
    after = answer.headers.get("retry-after", "")
    return float(after) if re.fullmatch(r"[0-9]{1,6}", after) else 1.0


def _check(vendor: Vendor) -> str:
    is_live = vendor.send("GET", "/v1/balance").value.get("livemode")
    return f"Stripe, {'live' if is_live else 'test'} mode"


TOOLSET: Final = Toolset(
    integration="stripe",
    title="Stripe",
    connection=VendorConnection(
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
    form = {"maxLength": 210, "pattern": f"^({prefixes})_[A-Za-z0-9_]{{1,200}}$"}
    return TEXT | form | {"description": description}


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
CUSTOMER: Final = _id("cus", "The customer's id, cus_.... Default: the bound customer.")
ISO_4217: Final = {"maxLength": 3, "pattern": "^[a-z]{3}$", "description": "ISO 4217, such as usd."}
CURRENCY: Final = TEXT | ISO_4217
REASON: Final = TEXT | {
    "enum": ["duplicate", "fraudulent", "requested_by_customer"],
    "description": "The reason sent to Stripe. fraudulent also blocks the card and the email.",
}
AT_PERIOD_END: Final = {
    "type": "boolean",
    "description": "true (default): end with the paid period. false: end immediately.",
}
FILED: Final = _object({"request_id": TEXT, "status": TEXT, "summary": TEXT})
DONE: Final = _object({"id": TEXT, "status": TEXT})
DAYS: Final = _amount("Days to add to the current end.") | {"maximum": 730}
WRITES: Final = {"mutates": True, "open_world": True}
ASKS: Final = {
    **WRITES,
    "output_schema": FILED,
    "not_destructive": "It only files a request.",
    "app": APPROVAL_CARD,
}
PERFORMS: Final = {**WRITES, "output_schema": DONE, "destructive": True}


def _tool(
    title: str, description: str, properties: Mapping[str, Json], *optional: str, **more: Any
) -> Callable[[Run], Run]:
    schema = _object(properties, *optional)
    return TOOLSET.tool(title=title, description=description, input_schema=schema, **more)


@_tool(
    "Request a refund",
    "Ask an admin to refund a payment in full or in part. Nothing is refunded until they approve; "
    "the result has the summary they see. Amounts are in the minor unit: 2000 is 20.00 USD.",
    {
        "payment": _id("ch|py|pi", "The charge (ch_..., py_...) or payment intent (pi_...)."),
        "amount": _amount("The amount. Default: everything not refunded yet."),
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
        message = f"Only {money(left, charge['currency'])} of it can still be refunded."
        raise _unfit("amount", message, f"must be at most {left}")
    asked = {"charge": charge["id"], "amount": amount, "currency": charge["currency"]}
    if "reason" in arguments:
        asked["reason"] = arguments["reason"]
    refunded, paid = (money(part, charge["currency"]) for part in (amount, charge["amount"]))
    summary = f"Refund {refunded} of {charge['id']} ({paid} paid)"
    return _request(context, "stripe.refund", asked, summary, arguments.get("why", ""))


@_tool(
    "Request a cancellation",
    "Ask an admin to cancel a subscription, at the end of the paid period by default. "
    "The subscription continues until they approve.",
    {"subscription": SUBSCRIPTION, "at_period_end": AT_PERIOD_END, "why": WHY},
    "at_period_end",
    "why",
    **ASKS,
)
def request_cancellation(context: ToolContext, arguments: Arguments) -> Facts:
    row = _subscription(context, arguments["subscription"])
    if row.get("status") in OVER:
        raise _unfit(
            "subscription", "The subscription is already canceled.", "is cancelled already"
        )
    later = arguments.get("at_period_end", True)
    if later and row.get("cancel_at_period_end"):
        raise _unfit(
            "subscription", "The subscription already ends with its period.", "is cancelled already"
        )
    when = f"at the end of its period{_period_end(row)}" if later else "at once"
    asked = {"subscription": row["id"], "at_period_end": later}
    summary = f"Cancel {row['id']} of {row['customer']} {when}"
    return _request(context, "stripe.cancel_subscription", asked, summary, arguments.get("why", ""))


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
    customer = _customer(context, _resolve_customer_id(context, arguments))
    used, currency = customer.get("currency"), arguments["currency"]
    if used and used != currency:  # a customer has one from their first invoice on
        raise _unfit("currency", f"The customer's currency is {used.upper()}.", f"must be {used}")
    asked = {"customer": customer["id"], "amount": arguments["amount"], "currency": currency}
    summary = f"Credit {customer['id']} with {money(arguments['amount'], currency)}"
    return _request(context, "stripe.credit_customer", asked, summary, arguments.get("why", ""))


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
        raise _unfit("subscription", "The subscription is not in a trial.", "is not in a trial")
    end = planned + arguments["days"] * DAY
    if end > time.time() + MAX_TRIAL:
        raise _unfit("days", "A trial can end at most two years from now.", "is too many")
    asked = {"subscription": row["id"], "trial_end": end}
    summary = f"Extend the trial of {row['id']} of {row['customer']} to {day(end)}"
    return _request(context, "stripe.set_trial_end", asked, summary, arguments.get("why", ""))


@_tool(
    "Refund",
    "Refund a charge, as approved in a request.",
    {"charge": CHARGE, "amount": _amount("How much."), "currency": CURRENCY, "reason": REASON},
    "reason",
    **PERFORMS,
)
def refund(context: ToolContext, arguments: Arguments) -> Facts:
    _charge(context, arguments["charge"])
    form = {"charge": arguments["charge"], "amount": str(arguments["amount"])}
    if "reason" in arguments:
        form["reason"] = arguments["reason"]
    return _change_facts(_post(context, "/v1/refunds", form))


@_tool(
    "Cancel a subscription",
    "Cancel a subscription, as approved in a request.",
    {"subscription": SUBSCRIPTION, "at_period_end": AT_PERIOD_END},
    **PERFORMS,
)
def cancel_subscription(context: ToolContext, arguments: Arguments) -> Facts:
    row = _subscription(context, arguments["subscription"])
    if row.get("status") == "canceled":
        return _change_facts(row)  # as after an attempt whose answer got lost
    path = _path("subscriptions", row["id"])
    if arguments["at_period_end"]:
        return _change_facts(_post(context, path, {"cancel_at_period_end": "true"}))
    # A key has no effect on DELETE (API reference, Idempotent requests).
    return _change_facts(context.vendor.send("DELETE", path).value)


@_tool(
    "Credit a customer",
    "Credit a customer's balance, as approved in a request.",
    {"customer": CUSTOMER, "amount": _amount("How much."), "currency": CURRENCY},
    **PERFORMS,
)
def credit_customer(context: ToolContext, arguments: Arguments) -> Facts:
    customer = _customer(context, arguments["customer"])
    # What is negative lowers what the customer owes (Customer balance transactions, amount).
    form = {"amount": str(-arguments["amount"]), "currency": arguments["currency"]}
    return _change_facts(
        _post(context, _path("customers", customer["id"], "/balance_transactions"), form)
    )


@_tool(
    "Set the end of a trial",
    "Move the end of a subscription's trial, as approved in a request.",
    {"subscription": SUBSCRIPTION, "trial_end": {"type": "integer", "minimum": 1}},
    **PERFORMS,
)
def set_trial_end(context: ToolContext, arguments: Arguments) -> Facts:
    row = _subscription(context, arguments["subscription"])
    form = {"trial_end": str(arguments["trial_end"]), "proration_behavior": "none"}
    return _change_facts(_post(context, _path("subscriptions", row["id"]), form))


def _charge(context: ToolContext, payment: str) -> dict[str, Any]:
    """A charge, by its id or as the latest of a payment intent."""
    if not payment.startswith("pi_"):
        return _require_own(context, _get(context, _path("charges", payment), *PAID))
    intent = _get(context, _path("payment_intents", payment), "id", expand="latest_charge")
    charge = _part(intent, "latest_charge")
    if not _is_sound(charge, *PAID):
        _require_own(context, intent)
        raise _unfit("payment", "The payment intent has no payment.", "has no charge")
    return _require_own(context, charge)


def _refundable(charge: Mapping[str, Any]) -> int:
    if charge.get("status") != "succeeded" or not charge.get("captured"):
        raise _unfit("payment", "The payment did not succeed.", "is not paid")
    if charge.get("disputed"):
        raise _unfit("payment", "The payment is disputed.", "is disputed")
    left: int = charge["amount_captured"] - charge["amount_refunded"]
    if left <= 0:
        raise _unfit("payment", "The payment is already fully refunded.", "is refunded already")
    return left


def _subscription(context: ToolContext, subscription: str) -> dict[str, Any]:
    return _require_own(
        context, _get(context, _path("subscriptions", subscription), "id", "customer")
    )


def _customer(context: ToolContext, customer: str) -> dict[str, Any]:
    try:
        found = _get(context, _path("customers", customer), "id")
    except NotFound:
        raise _absent() from None  # without Stripe's sentence, like one that was deleted
    if found.get("deleted"):
        raise _absent()
    return _require_own(context, found | {"customer": found["id"]})


def _require_own(context: ToolContext, row: dict[str, Any]) -> dict[str, Any]:
    """What belongs to the bound customer; another customer's is answered like a missing one."""
    if context.customer is not None and row.get("customer") != _bound_customer_id(context):
        raise _absent()
    return row


def _resolve_customer_id(context: ToolContext, arguments: Arguments) -> str:
    wanted = str(arguments.get("customer", ""))
    if wanted and context.customer is not None and wanted != _bound_customer_id(context):
        raise _unfit("customer", "This is not the bound customer.", "is not the bound customer's")
    return wanted or _bound_customer_id(context)


def _bound_customer_id(context: ToolContext) -> str:
    found = context.customer.vendor_ids.get("stripe", "") if context.customer else ""
    if not found:
        raise _unfit("customer", "Name the Stripe customer.", "is required")
    return found


def _request(context: ToolContext, tool: str, asked: Arguments, summary: str, why: str) -> Facts:
    made = context.request_approval(tool=tool, arguments=asked, summary=summary, why=why)
    value = {"request_id": made.id, "status": made.status, "summary": made.summary}
    return Facts(value, meta=made.meta)


def _get(context: ToolContext, path: str, *needed: str, expand: str = "") -> dict[str, Any]:
    """Read one object. Raises IntegrationFailure if it lacks a field that the tool depends on.

    Raises NotFound, for a bound customer without Stripe's sentence: what is missing and what is
    another customer's look the same.
    """
    query = {"expand[]": expand} if expand else {}
    try:
        found: dict[str, Any] = context.vendor.send("GET", path, query=query).value
    except NotFound:
        if context.customer is None:
            raise
        raise _absent() from None
    if not _is_sound(found, *needed):
        raise IntegrationFailure("Stripe's response does not match its API reference.")
    return found


def _is_sound(found: Mapping[str, Any], *needed: str) -> bool:
    got = {name: value for name, value in found.items() if value is not None}
    return {*needed} <= {*got} and all(isinstance(v, KINDS.get(k, object)) for k, v in got.items())


def _post(context: ToolContext, path: str, form: Mapping[str, str]) -> Any:
    return context.vendor.send("POST", path, form=form, idempotency_key=context.call_id).value


def _change_facts(changed: Mapping[str, Any]) -> Facts:
    read = {name: printable(changed.get(name)) for name in ("id", "status")}
    return Facts(read | {"status": read["status"] or "done"})


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


def _absent(sentence: str = "") -> NotFound:
    return NotFound(add_sentence("Stripe has nothing under this id", sentence))


def _unfit(field: str, message: str, reason: str) -> ValidationFailure:
    return ValidationFailure(message, field=field, reason=reason)
