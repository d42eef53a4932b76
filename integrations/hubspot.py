"""HubSpot: deals, contacts, follow-up tasks and notes, with a service key or a private app's token.

Contract: HubSpot's published OpenAPI files of crm/v3 (objects, owners, pipelines, properties), and
of account-info/v3.
"""

import datetime as dt
import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from http import HTTPStatus
from typing import Annotated, Any, Final, Literal, TypeAlias
from urllib.parse import quote

from tools_registry.api import (
    BoundCustomer,
    Facts,
    IntegrationFailure,
    Json,
    Keywords,
    NotDone,
    NotFound,
    PermissionRefused,
    Setting,
    ToolContext,
    ToolFailure,
    Toolset,
    ValidationFailure,
    Vendor,
    VendorAccount,
    VendorConnection,
    VendorResponse,
    add_sentence,
    error_sentence,
    find_log_id,
    judge_forbidden,
    judge_status,
)
from tools_registry.api.readable import one_line

CONTACTS: Final = "/crm/v3/objects/contacts"
DEALS: Final = "/crm/v3/objects/0-3"  # the contract calls deals by the id of their type
NOTES: Final = "/crm/v3/objects/notes"
TASKS: Final = "/crm/v3/objects/tasks"
OWNERS: Final = "/crm/v3/owners"
ACCOUNT: Final = "/account-info/v3/details"
PIPELINES: Final = "/crm/v3/pipelines/deals"
PROPERTIES: Final = "/crm/v3/properties/contacts/batch/read"

# A check reads one of each, to see whether the credential may.
READS: Final = {CONTACTS: "crm.objects.contacts.read", OWNERS: "crm.objects.owners.read"}
# HubSpot's own types, from a new record to what it is about (HubSpot, Associations v4, "HubSpot
# defined association types").
DEFINED: Final = {"associationCategory": "HUBSPOT_DEFINED"}
ASSOCIATION_TYPES: Final = {
    DEALS: {"contact": 3},
    NOTES: {"contact": 202, "deal": 214},
    TASKS: {"contact": 204, "deal": 216},
}
KINDS: Final = {DEALS: "deal", NOTES: "note", TASKS: "task"}
DIGITS: Final = re.compile(r"[0-9]{1,20}")
PROPERTY: Final = r"[a-z][a-z0-9_]{0,99}"
MAX_TEXT: Final = 300
MAX_NAME: Final = 60
NO_RECORD: Final = "HubSpot has no such record"
NO_CONTACT: Final = "HubSpot has no contact with this email"


def judge(answer: VendorResponse) -> ToolFailure | None:
    """The failure of an answer by its status, or None (HubSpot, Error handling)."""
    match answer.status:
        case HTTPStatus.BAD_REQUEST | HTTPStatus.CONFLICT | HTTPStatus.UNPROCESSABLE_ENTITY:
            names = _find_in_context(answer.value, "propertyName", "properties")
            said = _object(answer.value).get("message") or "no reason is given"
            # The names first: what HubSpot says may be too long to be shown whole.
            words = one_line(": ".join(filter(None, [", ".join(names), str(said)])), MAX_TEXT)
            message = f"HubSpot refused the values: {words}"
            return ValidationFailure(message, field=[*names, "arguments"][0], reason=words)
        case HTTPStatus.FORBIDDEN:
            return judge_forbidden(answer, _explain_forbidden(answer.value))
        case HTTPStatus.NOT_FOUND:
            return NotFound(add_sentence(NO_RECORD, error_sentence(answer.value)))
        case HTTPStatus.TOO_MANY_REQUESTS:
            message = "The HubSpot rate limit was reached."
            return IntegrationFailure(message, upstream_status=answer.status)
    return judge_status(answer)


def _find_in_context(value: Json, *names: str) -> list[str]:
    """What an error of HubSpot has under these names in its contexts (HubSpot, Error handling)."""
    errors = _object(value).get("errors")
    parts = [value, *(errors if isinstance(errors, list) else [])]
    contexts = [_object(_object(part).get("context")) for part in parts]
    lists = [context.get(name) for context in contexts for name in names]
    found = [one for some in lists if isinstance(some, list) for one in some]
    return list(dict.fromkeys(one_line(one, MAX_NAME) for one in found if isinstance(one, str)))


def _explain_forbidden(value: Json) -> str:
    scopes = _find_in_context(value, "requiredGranularScopes", "requiredScopes")
    if scopes:
        return f"HubSpot refused: the key needs one of these scopes: {', '.join(scopes)}."
    if _object(value).get("category") == "MISSING_SCOPES":
        return "HubSpot refused: the key lacks a scope that this needs."
    return add_sentence("HubSpot refused: the key may not do this", error_sentence(value))


def log_id(answer: VendorResponse) -> str:
    """HubSpot's id of the request (HubSpot, Error handling, correlationId)."""
    return str(_object(answer.value).get("correlationId") or find_log_id(answer))


def waits(answer: VendorResponse) -> float | None:
    """Seconds after which a request that HubSpot has not begun may be sent again.

    429 names its limit in `policyName`, and the window of a rolling one in a header (HubSpot, Usage
    guidelines); 423 is a lock of two seconds or more (HubSpot, Error handling).
    """
    if answer.status == HTTPStatus.LOCKED:
        return 2.0
    if answer.status != HTTPStatus.TOO_MANY_REQUESTS:
        return None
    if _object(answer.value).get("policyName") == "DAILY":
        return float("inf")  # what is used up for the day comes back at midnight
    retry_after = answer.headers.get("retry-after", "")
    if DIGITS.fullmatch(retry_after):
        return float(retry_after)
    window = answer.headers.get("x-hubspot-ratelimit-interval-milliseconds", "1000")
    return int(window) / 1000 if DIGITS.fullmatch(window) else 1.0


def check(vendor: Vendor) -> VendorAccount:
    """Name the account, its type and its deal pipelines, and what calls would miss there.

    Scopes to write are not checked: HubSpot tells them only as it refuses a change.
    """
    answer = vendor.send("GET", ACCOUNT)
    match answer.value:
        case {"portalId": int(portal), "accountType": str(kind)} if portal:
            account = f"{portal:d}"
        case _:
            raise _unreadable(answer)
    said, missing = f"HubSpot account {account} ({one_line(kind)})", []
    try:
        pipelines = _results(vendor.send("GET", PIPELINES))
        labels = ", ".join(str(_object(one).get("label")) for one in pipelines)
        said = f"{said} with the deal pipelines: {one_line(labels, MAX_TEXT)}"
        if not pipelines:
            missing.append("The account has no deal pipeline.")
    except PermissionRefused:
        missing.append(_lacks("crm.objects.deals.read"))
    for path, scope in READS.items():
        try:
            vendor.send("GET", path, query={"limit": "1"})
        except PermissionRefused:
            missing.append(_lacks(scope))
    return VendorAccount(said, account, tuple(missing), _find_wrong_properties(vendor))


def _lacks(scope: str) -> str:
    return f"The credential lacks the scope {scope}."


def _find_wrong_properties(vendor: Vendor) -> tuple[str, ...]:
    """What is wrong with the properties of the setting, in sentences."""
    names = _allowed_properties(vendor)
    if not names:
        return ()
    inputs = [{"name": name} for name in names]
    asked = {"archived": False, "dataSensitivity": "non_sensitive", "inputs": inputs}
    try:
        answer = vendor.send("POST", PROPERTIES, json=asked, is_read=True)
    except PermissionRefused:
        return ()  # a scope for contacts is missing, which is said elsewhere
    except NotFound:
        return ("HubSpot has none of the contact properties of the settings.",)
    found = {one["name"]: one for one in _results(answer)}
    fixed = [name for name in names if _is_fixed(found.get(name))]
    return (
        *(f"HubSpot has no contact property {name}." for name in names if name not in found),
        *(f"The contact property {name} cannot be changed." for name in fixed),
    )


def _allowed_properties(vendor: Vendor) -> list[str]:
    return vendor.settings.get("contact_properties", "").replace(",", " ").split()


def _is_fixed(property_: Json) -> bool:
    return _object(_object(property_).get("modificationMetadata")).get("readOnlyValue") is True


TOOLSET = Toolset(
    integration="hubspot",
    title="HubSpot",
    connection=VendorConnection(
        base_url="https://api.hubapi.com",
        credential="Service key, or token of a private app",
        credential_help="HubSpot: Development, Keys, Service keys. It needs the scopes "
        "crm.objects.contacts and .deals, read and write, and crm.objects.owners.read. Tokens of "
        "existing private apps work too; new private apps can no longer be created.",
        help_date=dt.date(2026, 11, 29),
        check=check,
        settings=(
            Setting(
                "contact_properties",
                "Contact properties that may be changed",
                help="Internal names, separated by commas, such as phone, jobtitle. "
                "If empty, update_contact changes nothing.",
                pattern=rf"{PROPERTY}( *, *{PROPERTY})*",
            ),
        ),
        judge=judge,
        waits=waits,
        log_id=log_id,
    ),
)


def _object(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def _unreadable(answer: VendorResponse) -> IntegrationFailure:
    return IntegrationFailure(
        "HubSpot's response could not be read.", upstream_status=answer.status
    )


def _results(answer: VendorResponse) -> Sequence[Json]:
    results = _object(answer.value).get("results")
    if not isinstance(results, list):
        raise _unreadable(answer)
    return results


def _id(answer: VendorResponse, record: Json) -> str:
    """A record's id. Raises IntegrationFailure for what HubSpot could not have called one."""
    found = _object(record).get("id")
    if not isinstance(found, str) or not DIGITS.fullmatch(found):
        raise _unreadable(answer)
    return found


def _invalid(field: str, reason: str) -> ValidationFailure:
    return ValidationFailure(f"{field} {reason}.", field=field, reason=reason)


def _text(longest: int, description: str, pattern: str = r"\S") -> Keywords:
    return Keywords(maxLength=longest, pattern=pattern, description=description)


EMAIL: Final = "^[!-?A-~]+@[A-Za-z0-9.-]+$"
NUMBER: Final = "^[0-9]+$"
DAY: Final = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
OwnerEmail: TypeAlias = Annotated[
    str, _text(254, "Email of the HubSpot user to assign it to.", EMAIL)
]


@dataclass(frozen=True, slots=True)
class ContactChoice:
    """The contact that a record is about."""

    contact_email: (
        Annotated[str, _text(254, "The contact's email. Not needed for a bound customer.", EMAIL)]
        | None
    ) = None
    contact_id: (
        Annotated[str, _text(20, "HubSpot id of the contact, instead of contact_email.", NUMBER)]
        | None
    ) = None


@dataclass(frozen=True, slots=True)
class SubjectChoice(ContactChoice):
    """The contact and the deal that a record is about."""

    deal_id: Annotated[str, _text(20, "HubSpot id of the related deal.", NUMBER)] | None = None


NO_CONTACT_CHOSEN: Final = ContactChoice()
NOTHING_CHOSEN: Final = SubjectChoice()


def _contact(context: ToolContext, chosen: ContactChoice) -> str:
    """The id of the contact that a call is about; empty where neither binding nor argument says."""
    if context.customer is not None:
        return _bound_contact(context.vendor, context.customer, chosen)
    if chosen.contact_email is None:
        return chosen.contact_id or ""
    if chosen.contact_id is not None:
        raise _invalid("contact_email", "must be left out next to contact_id")
    return _contact_by_email(context.vendor, chosen.contact_email)


def _bound_contact(vendor: Vendor, customer: BoundCustomer, chosen: ContactChoice) -> str:
    """The bound customer's contact: a call for one customer reaches no other."""
    email = customer.email if chosen.contact_email is None else chosen.contact_email
    # Letters of ASCII alone fold: as text, the sign for kelvin would become a k.
    if email.encode().lower() != customer.email.encode().lower():
        raise _invalid("contact_email", "is not the bound customer's")
    contact = customer.vendor_ids.get("hubspot", "")
    if not contact and customer.email:
        contact = _contact_by_email(vendor, customer.email)
    if not DIGITS.fullmatch(contact):
        raise NotFound("The bound customer has no contact in HubSpot.")
    if chosen.contact_id is not None and chosen.contact_id != contact:
        raise _invalid("contact_id", "is not the bound customer's")
    return contact


def _contact_by_email(vendor: Vendor, email: str) -> str:
    # Read by its unique property and not searched for: the search index lags behind.
    path = f"{CONTACTS}/{quote(email, safe='')}"
    try:
        answer = vendor.send("GET", path, query={"idProperty": "email"})
    except NotFound as missing:
        raise NotFound(missing.message.replace(NO_RECORD, NO_CONTACT, 1)) from None
    return _id(answer, answer.value)


def _subjects(context: ToolContext, chosen: SubjectChoice) -> dict[str, str]:
    """What a note or task is about: ids by `contact` and `deal`, at least one of them."""
    contact, deal = _contact(context, chosen), chosen.deal_id or ""
    if not contact and not deal:
        raise _invalid("contact_email", "is required where neither contact_id nor deal_id is given")
    if deal and context.customer is not None:
        _require_deal_of(context.vendor, contact, deal)
    return {kind: found for kind, found in (("contact", contact), ("deal", deal)) if found}


def _require_deal_of(vendor: Vendor, contact: str, deal: str) -> None:
    """Require a deal of the contact; a missing one is answered like that of another contact."""
    not_theirs = _invalid("deal_id", "is not a deal of the bound customer")
    try:
        answer = vendor.send("GET", f"{DEALS}/{deal}", query={"associations": "contacts"})
    except NotFound:
        raise not_theirs from None
    linked = _object(_object(_object(answer.value).get("associations")).get("contacts"))
    # Of more contacts than a page holds, the others are refused: nothing here says whose it is.
    found = linked.get("results")
    contacts = found if isinstance(found, list) else []
    if contact not in [_object(one).get("id") for one in contacts]:
        raise not_theirs


def _owner(vendor: Vendor, email: str | None) -> dict[str, str]:
    """The property that names the owner whose address is given."""
    if email is None:
        return {}
    answer = vendor.send("GET", OWNERS, query={"email": email, "limit": "1"})
    if not _results(answer):
        raise _invalid("owner_email", "belongs to no user of HubSpot")
    return {"hubspot_owner_id": _id(answer, _results(answer)[0])}


def _place(vendor: Vendor, pipeline: str | None, stage: str | None) -> dict[str, str]:
    """The properties that name a deal's pipeline and stage; the first ones where none is named."""
    answer = vendor.send("GET", PIPELINES)
    try:
        of_deal = _choose_record(_results(answer), "pipeline", pipeline)
        reached = _choose_record(of_deal["stages"], "stage", stage)
        return {"pipeline": str(of_deal["id"]), "dealstage": str(reached["id"])}
    except (KeyError, TypeError, AttributeError):
        raise _unreadable(answer) from None


def _choose_record(records: Sequence[Json], field: str, name: str | None) -> Json:
    """The record of an id or label, of those in use as HubSpot shows them; without, the first."""
    used = [one for one in records if not one["archived"]]
    used.sort(key=lambda one: (one["displayOrder"], one["label"]))
    if not used:
        message = f"HubSpot shows no {field} of deals that is in use, so no deal can be created."
        raise NotDone(message)
    wanted = _fold_case(name or "")
    fitting = [
        one for one in used if wanted in {"", _fold_case(one["id"]), _fold_case(one["label"])}
    ]
    if not fitting or (wanted and len(fitting) > 1):
        known = ", ".join(one["label"] for one in used)
        raise _invalid(field, one_line(f"must name one of: {known}", MAX_TEXT))
    return fitting[0]


def _fold_case(text: str) -> str:
    return text.strip().casefold()


def _create_record(
    vendor: Vendor, path: str, properties: Mapping[str, str], subjects: Mapping[str, str]
) -> Facts:
    """Create a record that is about others."""
    kind_of = ASSOCIATION_TYPES[path]
    associations = [
        {"to": {"id": record}, "types": [{**DEFINED, "associationTypeId": kind_of[subject]}]}
        for subject, record in subjects.items()
    ]
    body = {"properties": properties, "associations": associations}
    answer = vendor.send("POST", path, json=body, look_for=_look_for(path, properties, subjects))
    about = {f"{kind}_id": record for kind, record in subjects.items()}
    return Facts({"id": _id(answer, answer.value), **about})


def _look_for(path: str, properties: Mapping[str, str], subjects: Mapping[str, str]) -> str:
    """What a record is found by, where nobody knows whether it was created."""
    name = properties.get("dealname") or properties.get("hs_task_subject") or ""
    named = f" named “{one_line(name, MAX_NAME)}”" if name else ""
    about = " and ".join(f"{kind} {record}" for kind, record in subjects.items())
    return f"a new {KINDS[path]}{named}{' of ' if about else ''}{about}"


def _noon(day: str, field: str) -> str:
    """Noon of a day: that same day from UTC-12 to UTC+11.

    Raises ValidationFailure for 30 February.
    """
    try:
        return f"{dt.date.fromisoformat(day)}T12:00:00Z"
    except ValueError:
        # The schema has made sure of the form.
        raise _invalid(field, f"{day} does not exist") from None


def _rich(text: str) -> str:
    """Plain text for a field that HubSpot shows as HTML: nothing in it becomes mark-up."""
    return html.escape(text, quote=False).replace("\n", "<br>")


RECORD: Final = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("id", "contact_id", "deal_id")},
    "required": ["id"],
    "additionalProperties": False,
}
WRITES: Final[Mapping[str, Any]] = {"output_schema": RECORD, "mutates": True, "open_world": True}


@TOOLSET.tool(
    title="Create a deal",
    description="Create a deal in HubSpot for a contact. The default is the first stage of the "
    "first pipeline. Returns the deal's id.",
    **WRITES,
)
def create_deal(
    context: ToolContext,
    *,
    name: Annotated[str, _text(200, "Name of the deal.")],
    amount: Annotated[float, Keywords(minimum=0, maximum=10**12)] | None = None,
    pipeline: Annotated[str, _text(200, "Label or id of a deal pipeline.")] | None = None,
    stage: Annotated[str, _text(200, "Label or id of a stage in that pipeline.")] | None = None,
    close_date: Annotated[str, _text(10, "Expected close date, as YYYY-MM-DD.", DAY)] | None = None,
    owner_email: OwnerEmail | None = None,
    chosen: ContactChoice = NO_CONTACT_CHOSEN,
) -> Facts:
    dated = {}
    if close_date is not None:
        dated["closedate"] = _noon(close_date, "close_date")
    if amount is not None:
        dated["amount"] = f"{Decimal(str(abs(amount))):f}"
    contact = _contact(context, chosen)
    placed = _place(context.vendor, pipeline, stage)
    owned = _owner(context.vendor, owner_email)
    properties = {"dealname": name, **placed, **dated, **owned}
    return _create_record(
        context.vendor, DEALS, properties, {"contact": contact} if contact else {}
    )


@TOOLSET.tool(
    title="Update a contact",
    description="Change properties of a contact in HubSpot. An admin chooses the properties; "
    "a refusal lists the allowed ones.",
    **WRITES,
)
def update_contact(
    context: ToolContext,
    properties: Annotated[
        Mapping[str, str],
        Keywords(
            description="New values by the property's internal name, such as jobtitle.",
            propertyNames={"maxLength": 100},
            additionalProperties={"type": "string", "maxLength": 5000},
            minProperties=1,
            maxProperties=20,
        ),
    ],
    chosen: ContactChoice = NO_CONTACT_CHOSEN,
) -> Facts:
    allowed = _allowed_properties(context.vendor)
    if not properties.keys() <= set(allowed):
        listed = ", ".join(allowed) or "none yet; an admin lists them in the settings"
        raise _invalid("properties", one_line(f"may be: {listed}", MAX_TEXT))
    contact = _contact(context, chosen)
    if not contact:
        raise _invalid("contact_email", "or contact_id is required")
    body = {"properties": properties}
    look_for = one_line(f"the new values of {', '.join(properties)} on contact {contact}", MAX_TEXT)
    answer = context.vendor.send("PATCH", f"{CONTACTS}/{contact}", json=body, look_for=look_for)
    return Facts({"id": _id(answer, answer.value)})


@TOOLSET.tool(
    title="Log an activity",
    description="Create a follow-up task in HubSpot for a contact, a deal or both.",
    **WRITES,
)
def log_activity(
    context: ToolContext,
    *,
    subject: Annotated[str, _text(200, "The task, in one line.")],
    details: Annotated[str, _text(5000, "Details for the assignee, as plain text.")] | None = None,
    due_date: Annotated[str, _text(10, "Due date, as YYYY-MM-DD. Default: today.", DAY)]
    | None = None,
    priority: Literal["LOW", "MEDIUM", "HIGH"] | None = None,
    owner_email: OwnerEmail | None = None,
    chosen: SubjectChoice = NOTHING_CHOSEN,
) -> Facts:
    today = f"{dt.datetime.now(dt.UTC):%Y-%m-%d}"
    properties = {
        "hs_task_subject": subject,
        "hs_task_body": _rich(details or ""),
        "hs_task_status": "NOT_STARTED",
        "hs_task_type": "TODO",
        "hs_task_priority": priority or "NONE",
        "hs_timestamp": _noon(due_date or today, "due_date"),
    }
    subjects = _subjects(context, chosen)
    owned = _owner(context.vendor, owner_email)
    return _create_record(context.vendor, TASKS, {**properties, **owned}, subjects)


@TOOLSET.tool(
    title="Create a note",
    description="Write a note on a contact, a deal or both in HubSpot.",
    **WRITES,
)
def create_note(
    context: ToolContext,
    text: Annotated[str, _text(10_000, "The note, as plain text.")],
    chosen: SubjectChoice = NOTHING_CHOSEN,
) -> Facts:
    now = f"{dt.datetime.now(dt.UTC):%Y-%m-%dT%H:%M:%SZ}"
    properties = {"hs_note_body": _rich(text), "hs_timestamp": now}
    subjects = _subjects(context, chosen)
    return _create_record(context.vendor, NOTES, properties, subjects)
