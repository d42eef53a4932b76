"""Stripe: `request_*` tools file billing requests; destructive tools run the approved ones.

Source: Stripe API reference (docs.stripe.com/api), at the version below. Amounts are in the
currency's minor unit.
"""

import datetime as dt
import re
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any, Final, Literal, TypeAlias
from urllib.parse import quote

from tools_registry.api import (
    Facts,
    Following,
    IntegrationFailure,
    Json,
    Keywords,
    NotDone,
    NotFound,
    PermissionRefused,
    ToolContext,
    ToolFailure,
    Toolset,
    Unauthorized,
    ValidationFailure,
    Vendor,
    VendorAccount,
    VendorConnection,
    VendorResponse,
    add_sentence,
    find_log_id,
    judge_forbidden,
)
from tools_registry.api.apps import APPROVAL_CARD
from tools_registry.api.readable import day, money, printable

VERSION: Final = "2026-01-28.clover"
DAY: Final = 86_400
MAX_TRIAL: Final = 730 * DAY  # from now (API reference, Update a subscription, trial_end)
NAMES: Final = ("id", "currency", "customer", "status")
PAID: Final = ("id", "amount", "amount_captured", "amount_refunded", "currency")
KINDS: Final = dict.fromkeys((*PAID, "trial_end"), int) | dict.fromkeys(NAMES, str)
# API reference, The Refund object, status: in these no money reaches the customer.
FAILED_REFUNDS: Final = frozenset({"canceled", "failed"})
OPEN_REFUNDS: Final = frozenset({"pending", "requires_action"})
OVER: Final = frozenset({"canceled", "incomplete_expired"})
# API reference, Error codes.
KEY_REFUSALS: Final[Mapping[str, str]] = {
    "api_key_expired": "Stripe refused the organization's key: it has expired.",
    "secret_key_required": "Stripe refused the organization's key: it is a publishable key.",
}
# What the tools read: a key without the permission is connected, and its calls fail.
READS: Final = ("charges", "payment_intents", "customers", "subscriptions", "refunds")
ACCOUNT_ID: Final = re.compile(r"\bacct_[A-Za-z0-9]{1,60}")
LARGEST: Final = 99_999_999  # eight digits (API reference, Charges, amount)
REFUSED_VALUES: Final = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})


def _judge(answer: VendorResponse) -> ToolFailure | None:
    """Stripe's error object in words of ours (API reference, Errors)."""
    if answer.is_success and isinstance(answer.value, dict):
        return None
    error = _part(answer.value, "error")
    if answer.status == HTTPStatus.UNAUTHORIZED:
        why = KEY_REFUSALS.get(str(error.get("code")), "Stripe refused the organization's key.")
        return Unauthorized(why)
    if answer.status == HTTPStatus.FORBIDDEN:
        sentence = printable(error.get("message"))
        message = add_sentence("Stripe refused: the key may not do this", sentence)
        return judge_forbidden(answer, message)
    if answer.status == HTTPStatus.NOT_FOUND or error.get("code") == "resource_missing":
        return _absent(printable(error.get("message")))
    reason = printable(error.get("message")) or "no reason given"
    if answer.status in REFUSED_VALUES and error.get("type") == "invalid_request_error":
        field = printable(error.get("param")) or "arguments"
        return ValidationFailure(f"Stripe refused the values: {reason}", field=field, reason=reason)
    codes = [printable(error.get(name)) for name in ("code", "decline_code")]
    named = f" ({', '.join(filter(None, codes))})" if any(codes) else ""
    message = f"Stripe answered {answer.status}{named}: {reason}"
    return IntegrationFailure(message, upstream_status=answer.status)


def _log_id(answer: VendorResponse) -> str:
    """The address of the request in Stripe's log, or its id (API reference, Errors)."""
    return printable(_part(answer.value, "error").get("request_log_url")) or find_log_id(answer)


def _waits(answer: VendorResponse) -> float | None:
    """When to ask again, in seconds: Stripe says itself whether (docs, Advanced error handling)."""
    should_retry = answer.headers.get("stripe-should-retry")
    busy = answer.status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.CONFLICT}
    if should_retry == "false" or not (busy or should_retry == "true"):
        return None
    after = answer.headers.get("retry-after", "")
    return float(after) if re.fullmatch(r"[0-9]{1,6}", after) else 1.0


def _check(vendor: Vendor) -> VendorAccount:
    """Name the mode, the account as far as the key may read it, and what the key may not read.

    Permissions to write are not checked: Stripe tells them only as it refuses a change.
    """
    is_live = vendor.send("GET", "/v1/balance").value.get("livemode")
    mode = "live mode" if is_live else "test mode"
    missing = []
    for noun in READS:
        try:
            vendor.send("GET", f"/v1/{noun}", query={"limit": "1"})
        except PermissionRefused:
            missing.append(f"The key lacks the permission to read {noun.replace('_', ' ')}.")
    account = _find_account(vendor)
    named, known = (
        (f"Stripe account {account}", f"{mode}/{account}") if account else ("Stripe", mode)
    )
    return VendorAccount(f"{named}, {mode}", known, tuple(missing))


def _find_account(vendor: Vendor) -> str:
    """The id of the account; a refusal of a restricted key names it too. Empty where none does."""
    try:
        said = vendor.send("GET", "/v1/account").value.get("id")
    except PermissionRefused as failure:
        said = failure.message
    found = ACCOUNT_ID.search(str(said))
    return found[0] if found else ""


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
        help_date=dt.date(2026, 11, 29),
        wrong_credentials={
            "pk_": "a publishable key, with which nothing can be read. Use a secret or restricted "
            "key",
            "sk_org_": "a key of an organization, which names no account. Use a key of the account",
            "whsec_": "the secret of a webhook. Use a secret or restricted key",
            "ek_": "an ephemeral key. Use a secret or restricted key",
        },
        check=_check,
        headers={"Stripe-Version": VERSION},
        idempotency_header="Idempotency-Key",
        judge=_judge,
        waits=_waits,
        log_id=_log_id,
    ),
)


def _id(prefixes: str, description: str) -> Keywords:
    pattern = f"^({prefixes})_[A-Za-z0-9_]{{1,200}}$"
    return Keywords(maxLength=210, pattern=pattern, description=description)


def _amount(description: str, maximum: int = LARGEST) -> Keywords:
    return Keywords(minimum=1, maximum=maximum, description=description)


def _output_schema(*names: str, optional: Sequence[str] = ()) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in (*names, *optional)},
        "required": list(names),
        "additionalProperties": False,
    }


Why: TypeAlias = Annotated[
    str, Keywords(maxLength=500, description="Why, for the admin who decides.")
]
SubscriptionId: TypeAlias = Annotated[str, _id("sub", "The subscription's id, sub_...")]
ChargeId: TypeAlias = Annotated[str, _id("ch|py", "The charge's id, ch_... or py_...")]
PaymentId: TypeAlias = Annotated[
    str, _id("ch|py|pi", "The charge (ch_..., py_...) or payment intent (pi_...).")
]
CustomerId: TypeAlias = Annotated[
    str, _id("cus", "The customer's id, cus_.... Default: the bound customer.")
]
Currency: TypeAlias = Annotated[
    str, Keywords(maxLength=3, pattern="^[a-z]{3}$", description="ISO 4217, such as usd.")
]
Amount: TypeAlias = Annotated[int, _amount("How much.")]
Reason: TypeAlias = Annotated[
    Literal["duplicate", "fraudulent", "requested_by_customer"],
    Keywords(
        description="The reason sent to Stripe. fraudulent also blocks the card and the email."
    ),
]
AtPeriodEnd: TypeAlias = Annotated[
    bool,
    Keywords(description="true (default): end with the paid period. false: end immediately."),
]
WRITES: Final[Mapping[str, Any]] = {"mutates": True, "open_world": True}
ASKS: Final[Mapping[str, Any]] = {
    **WRITES,
    "output_schema": _output_schema("request_id", "status", "summary"),
    "not_destructive": "It only files a request.",
    "app": APPROVAL_CARD,
}
PERFORMS: Final[Mapping[str, Any]] = {
    **WRITES,
    "output_schema": _output_schema("id", "status", optional=("cancel_at",)),
    "destructive": True,
}


@TOOLSET.tool(
    title="Request a refund",
    description="Ask an admin to refund a payment in full or in part. Nothing is refunded until "
    "they approve; the result has the summary they see. Amounts are in the minor unit: 2000 is "
    "20.00 USD.",
    **ASKS,
)
def request_refund(
    context: ToolContext,
    payment: PaymentId,
    amount: Annotated[int, _amount("The amount. Default: everything not refunded yet.")]
    | None = None,
    reason: Reason | None = None,
    why: Why | None = None,
) -> Facts:
    charge = _charge(context, payment)
    left = _refundable(charge)
    amount = left if amount is None else amount
    if amount > left:
        message = f"Only {money(left, charge['currency'])} of it can still be refunded."
        raise _unfit("amount", message, f"must be at most {left}")
    asked = {"charge": charge["id"], "amount": amount, "currency": charge["currency"]}
    if reason is not None:
        asked["reason"] = reason
    refunded, paid = (money(part, charge["currency"]) for part in (amount, charge["amount"]))
    summary = f"Refund {refunded} of {charge['id']} ({paid} paid)"
    return _request(context, "stripe.refund", asked, summary, why)


@TOOLSET.tool(
    title="Request a cancellation",
    description="Ask an admin to cancel a subscription, at the end of the paid period by default. "
    "The subscription continues until they approve.",
    **ASKS,
)
def request_cancellation(
    context: ToolContext,
    subscription: SubscriptionId,
    at_period_end: AtPeriodEnd = True,  # noqa: FBT002  an argument of the tool
    why: Why | None = None,
) -> Facts:
    row = _subscription(context, subscription)
    if row.get("status") in OVER:
        raise _unfit(
            "subscription", "The subscription is already canceled.", "is cancelled already"
        )
    if at_period_end and row.get("cancel_at_period_end"):
        raise _unfit(
            "subscription", "The subscription already ends with its period.", "is cancelled already"
        )
    when = f"at the end of its period{_period_end(row)}" if at_period_end else "at once"
    asked = {"subscription": row["id"], "at_period_end": at_period_end}
    summary = f"Cancel {row['id']} of {row['customer']} {when}"
    return _request(context, "stripe.cancel_subscription", asked, summary, why)


@TOOLSET.tool(
    title="Request a credit",
    description="Ask an admin to credit a customer's balance, which Stripe takes off their next "
    "invoices. Nothing is credited until they approve. Amounts are in the minor unit: 2000 is "
    "20.00 USD.",
    **ASKS,
)
def request_credit(
    context: ToolContext,
    *,
    customer: CustomerId | None = None,
    amount: Amount,
    currency: Currency,
    why: Why | None = None,
) -> Facts:
    row = _customer(context, _resolve_customer_id(context, customer or ""))
    used = row.get("currency")
    if used and used != currency:  # a customer has one from their first invoice on
        raise _unfit("currency", f"The customer's currency is {used.upper()}.", f"must be {used}")
    asked = {"customer": row["id"], "amount": amount, "currency": currency}
    summary = f"Credit {row['id']} with {money(amount, currency)}"
    return _request(context, "stripe.credit_customer", asked, summary, why)


@TOOLSET.tool(
    title="Extend a trial",
    description="Ask an admin to let the running trial of a subscription end later, by a number "
    "of days. It ends as planned until they approve.",
    **ASKS,
)
def extend_trial(
    context: ToolContext,
    subscription: SubscriptionId,
    days: Annotated[int, _amount("Days to add to the current end.", 730)],
    why: Why | None = None,
) -> Facts:
    row = _subscription(context, subscription)
    planned = row.get("trial_end")
    if row.get("status") != "trialing" or not isinstance(planned, int):
        raise _unfit("subscription", "The subscription is not in a trial.", "is not in a trial")
    end = planned + days * DAY
    if end > time.time() + MAX_TRIAL:
        raise _unfit("days", "A trial can end at most two years from now.", "is too many")
    asked = {"subscription": row["id"], "trial_end": end}
    summary = f"Extend the trial of {row['id']} of {row['customer']} to {day(end)}"
    return _request(context, "stripe.set_trial_end", asked, summary, why)


def _read_refund(vendor: Vendor, result: Json) -> Facts:
    """What became of a refund. Raises NotDone for one that has failed."""
    refund = vendor.send("GET", _path("refunds", str(result["id"]))).value
    _require_no_failed_refund(refund)
    return _change_facts(refund)


@TOOLSET.tool(
    title="Refund",
    description="Refund a charge, as approved in a request.",
    following=Following(OPEN_REFUNDS, _read_refund),
    **PERFORMS,
)
def refund(
    context: ToolContext,
    charge: ChargeId,
    amount: Amount,
    currency: Currency,
    reason: Reason | None = None,
) -> Facts:
    _charge(context, charge)
    form = {"charge": charge, "amount": str(amount)}
    if reason is not None:
        form["reason"] = reason
    look_for = f"a refund of {money(amount, currency)} of {charge}"
    made = _post(context, "/v1/refunds", form, look_for)
    _require_no_failed_refund(made)
    return _change_facts(made)


def _require_no_failed_refund(made: Mapping[str, Any]) -> None:
    """Raises NotDone for a refund that Stripe made and that did not reach the customer."""
    if made.get("status") in FAILED_REFUNDS:
        reason = printable(made.get("failure_reason")) or "no reason is given"
        refund, status = printable(made.get("id")), printable(made.get("status"))
        raise NotDone(f"The refund {refund} is {status} at Stripe: {reason}.")


@TOOLSET.tool(
    title="Cancel a subscription",
    description="Cancel a subscription, as approved in a request.",
    **PERFORMS,
)
def cancel_subscription(
    context: ToolContext,
    subscription: SubscriptionId,
    at_period_end: AtPeriodEnd,
) -> Facts:
    row = _subscription(context, subscription)
    if row.get("status") == "canceled":
        return _change_facts(row)  # as after an attempt whose answer got lost
    path, look_for = _path("subscriptions", row["id"]), f"the cancellation of {row['id']}"
    if at_period_end:
        return _change_facts(_post(context, path, {"cancel_at_period_end": "true"}, look_for))
    # A key has no effect on DELETE (API reference, Idempotent requests).
    return _change_facts(context.vendor.send("DELETE", path, look_for=look_for).value)


@TOOLSET.tool(
    title="Credit a customer",
    description="Credit a customer's balance, as approved in a request.",
    **PERFORMS,
)
def credit_customer(
    context: ToolContext, customer: CustomerId, amount: Amount, currency: Currency
) -> Facts:
    row = _customer(context, customer)
    # What is negative lowers what the customer owes (Customer balance transactions, amount).
    form = {"amount": str(-amount), "currency": currency}
    look_for = f"a credit of {money(amount, currency)} on the balance of {row['id']}"
    path = _path("customers", row["id"], "/balance_transactions")
    return _change_facts(_post(context, path, form, look_for))


@TOOLSET.tool(
    title="Set the end of a trial",
    description="Move the end of a subscription's trial, as approved in a request.",
    **PERFORMS,
)
def set_trial_end(
    context: ToolContext,
    subscription: SubscriptionId,
    trial_end: Annotated[int, Keywords(minimum=1)],
) -> Facts:
    row = _subscription(context, subscription)
    _require_trial(row, trial_end)
    form = {"trial_end": str(trial_end), "proration_behavior": "none"}
    look_for = f"{day(trial_end)} as the end of the trial of {row['id']}"
    return _change_facts(_post(context, _path("subscriptions", row["id"]), form, look_for))


def _require_trial(subscription: Mapping[str, Any], end: int) -> None:
    """Require that a trial still runs, and does not end later already, as an approval comes."""
    if subscription.get("status") != "trialing":
        # A subscription that is paid would go back into a trial, without a charge until its end.
        raise _unfit("subscription", "The trial has ended meanwhile.", "is not in a trial")
    planned = subscription.get("trial_end")
    if isinstance(planned, int) and planned > end:
        message = f"The trial ends later meanwhile, on {day(planned)}."
        raise _unfit("trial_end", message, "is before the end of the trial")


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


def _resolve_customer_id(context: ToolContext, wanted: str) -> str:
    if wanted and context.customer is not None and wanted != _bound_customer_id(context):
        raise _unfit("customer", "This is not the bound customer.", "is not the bound customer's")
    return wanted or _bound_customer_id(context)


def _bound_customer_id(context: ToolContext) -> str:
    found = context.customer.vendor_ids.get("stripe", "") if context.customer else ""
    if not found:
        raise _unfit("customer", "Name the Stripe customer.", "is required")
    return found


def _request(
    context: ToolContext, tool: str, asked: Mapping[str, Json], summary: str, why: str | None
) -> Facts:
    made = context.request_approval(tool=tool, arguments=asked, summary=summary, why=why or "")
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


def _post(context: ToolContext, path: str, form: Mapping[str, str], look_for: str) -> Any:
    answer = context.vendor.send(
        "POST", path, form=form, idempotency_key=context.call_id, look_for=look_for
    )
    return answer.value


def _change_facts(changed: Mapping[str, Any]) -> Facts:
    """What Stripe answers to a change. Raises IntegrationFailure for an answer without an id."""
    read = {name: printable(changed.get(name)) for name in ("id", "status")}
    if not read["id"]:
        raise IntegrationFailure("Stripe's response does not match its API reference.")
    is_ending = changed.get("cancel_at_period_end") and read["status"] not in OVER
    end = changed.get("cancel_at") if is_ending else None
    ends = {"cancel_at": day(end)} if isinstance(end, int) else {}
    return Facts(read | ends | {"status": read["status"] or "done"})


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
