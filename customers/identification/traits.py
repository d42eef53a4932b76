"""Traits: what an organization's own app sends about its customers and companies.

A known trait has a column and a type, every other one is kept in `custom_fields`. A trait that is
null empties its column, or removes the custom field. The newest message about a trait counts:
`trait_times` has the time of the message that wrote each of them. Source: docs/sdk-api.md, Traits,
and docs/identification.md.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.utils import timezone

from customers.identification import field_values, trait_names
from customers.identification.field_values import InvalidField, InvalidValue, Reader
from customers.identification.trait_names import IgnoredField, TranslatedTraits
from workspace.models import Company, Customer, Lifecycle, RenewalStatus, Term
from workspace.models.columns import Account

MAX_USER_BYTES: Final = 20_000
MAX_COMPANY_BYTES: Final = 50_000
CONTEXT_TYPES: Final = (
    "list",
    "integration",
    "error",
    "status",
    "config",
    "feature",
    "metric",
    "relationship",
    "custom",
)
MAX_LABEL: Final = 200
# Removed fields whose time is kept, so that an older message does not bring them back.
MAX_REMOVED: Final = 100


@dataclass(frozen=True, slots=True)
class Known:
    """A trait with a column: how it is read, what null stores, and whether a page may claim it.

    What a page sends is a claim of the person at the browser. What it may not claim is written by
    a server, an import or a claim of an identity token, which the organization's own server signs.
    """

    read: Reader
    empty: Any = None
    is_claimable: bool = False


def _text(max_length: int, *, is_claimable: bool = False) -> Known:
    return Known(field_values.text(max_length), "", is_claimable)


def _choice(values: Collection[str]) -> Known:
    return Known(field_values.choice(values), "")


ACCOUNT: Final[Mapping[str, Known]] = {
    "plan": _text(100),
    "signed_up_at": Known(field_values.sign_up_time),
    "renewal_status": _choice(RenewalStatus.values),
    "renewal_date": Known(field_values.day),
    "contract_term": _choice(Term.values),
    "payment_terms": _choice(Term.values),
    "on_contract": Known(field_values.flag),
    "mrr": Known(field_values.money),
    "arr": Known(field_values.money),
}
# With identity verification, the email of a page is the one in its identity token.
CUSTOMER: Final[Mapping[str, Known]] = {
    "name": _text(200, is_claimable=True),
    "email": Known(field_values.email, "", is_claimable=True),
    "avatar": _text(2048, is_claimable=True),
    "role": _text(100, is_claimable=True),
    "lifecycle": Known(field_values.choice(Lifecycle.values), Lifecycle.ACTIVE),
    **ACCOUNT,
}
COMPANY: Final[Mapping[str, Known]] = {
    "name": _text(200),
    "domain": _text(253),
    "industry": _text(100),
    "employee_count": Known(field_values.whole),
    "health_score": Known(field_values.percentage),
    **ACCOUNT,
}
AMOUNTS: Final = ("mrr", "arr")
# A custom field; amounts next to it are refused unless it is the organization's own.
CURRENCY: Final = "currency"
SERVERS_ONLY: Final = "Only a server may say this, with a server key or in the identity token."
OLDER: Final = "A newer message has set it."
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)
COMPANY_ID: Final = "company_id"
# Halo sets these; a request that sends one is refused.
MANAGED_OF_ALL: Final = ("id", "external_id", "org_id", "updated_at")
MANAGED_OF_CUSTOMERS: Final = (
    *MANAGED_OF_ALL,
    "company_id",
    "first_seen",
    "last_seen",
    "last_contacted_at",
)
MANAGED_OF_COMPANIES: Final = (*MANAGED_OF_ALL, "team_size", "last_contacted_at")


@dataclass(frozen=True, slots=True)
class Traits:
    """Values of columns, and of custom fields; None removes a custom field.

    `company_id` is that of the object `company` of other products. `ignored` is what is not stored.
    """

    columns: Mapping[str, Any] = field(default_factory=dict)
    custom: Mapping[str, Any] = field(default_factory=dict)
    company_id: str | None = None
    ignored: tuple[IgnoredField, ...] = ()


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What a message has written, and what not.

    `stored` names columns, `custom_fields.seats` and `context.error`.
    """

    stored: tuple[str, ...] = ()
    ignored: tuple[IgnoredField, ...] = ()


def parse_customer_traits(sent: Mapping[str, Any]) -> Traits:
    """Returns typed traits. Raises InvalidField."""
    return _read(sent, CUSTOMER, MANAGED_OF_CUSTOMERS, trait_names.translate_customer)


def parse_company_traits(sent: Mapping[str, Any]) -> Traits:
    """Returns typed traits. Raises InvalidField."""
    traits = _read(sent, COMPANY, MANAGED_OF_COMPANIES, trait_names.translate_company)
    if field_values.json_bytes(sent) > MAX_COMPANY_BYTES:
        raise InvalidField("traits", f"Send at most {MAX_COMPANY_BYTES} bytes of JSON.")
    return traits


def keep_claims(traits: Traits, known: Mapping[str, Known]) -> Traits:
    """Returns the traits that a page may claim; the others are ignored."""
    refused = [name for name in traits.columns if not known[name].is_claimable]
    return replace(
        traits,
        columns={name: one for name, one in traits.columns.items() if name not in refused},
        ignored=(
            *traits.ignored,
            *(IgnoredField(f"traits.{name}", SERVERS_ONLY) for name in refused),
        ),
    )


def context_entries(sent: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns context entries, `{label, type, value}` by key; None removes one.

    Raises InvalidField.
    """
    return dict(field_values.parse_each(_entry, sent.items()))


def write_customer(
    customer: Customer, traits: Traits, context: Mapping[str, Any], at: datetime | None
) -> WriteResult:
    """Sets what was sent and keeps the rest. Raises InvalidField if the customer grows too large.

    `at` is when the sender wrote it: what a newer message has set is kept. None is now, and the
    newest. Traits and context of a customer have MAX_USER_BYTES together, however many requests
    sent them.
    """
    _check_stored_currency(customer, traits)
    stored, older = _note_times(customer, _list_names(traits, context), at)
    _write(customer, traits, stored)
    names = frozenset(stored)
    entries = {key: entry for key, entry in context.items() if f"context.{key}" in names}
    customer.context = _merge_fields(customer.context, entries)
    _forget_removed(customer, customer.context)
    written = field_values.json_bytes([customer.custom_fields, customer.context])
    if written > MAX_USER_BYTES:
        reason = f"The custom fields and context of a customer have at most {MAX_USER_BYTES} bytes."
        raise InvalidField("traits", reason)
    return WriteResult(stored, (*traits.ignored, *older))


def write_company(company: Company, traits: Traits, at: datetime | None) -> WriteResult:
    """Sets what was sent and keeps the rest. Raises InvalidField if the company grows too large.

    `at` is as in `write_customer`.
    """
    _check_stored_currency(company, traits)
    stored, older = _note_times(company, _list_names(traits, {}), at)
    _write(company, traits, stored)
    _forget_removed(company, {})
    if field_values.json_bytes(company.custom_fields) > MAX_COMPANY_BYTES:
        reason = f"The custom fields of a company have at most {MAX_COMPANY_BYTES} bytes."
        raise InvalidField("traits", reason)
    return WriteResult(stored, (*traits.ignored, *older))


def find_currency(fields: Mapping[str, Any]) -> str:
    """Returns what a custom field `currency`, in any case, says; empty without one."""
    found = (value for name, value in fields.items() if name.lower() == CURRENCY)
    return next((one.strip() for one in found if isinstance(one, str)), "")


def set_company(traits: Traits, company_id: str | None) -> Traits:
    """Returns the traits with the customer's company, by its id in Halo; None is no company."""
    return replace(traits, columns={**traits.columns, COMPANY_ID: company_id})


def note_times(
    account: Account, names: Iterable[str], at: datetime | None = None
) -> tuple[str, ...]:
    """Notes that these columns were written, as by a person in the admin; now without `at`.

    Returns those of them that no newer message has set.
    """
    return _note_times(account, names, at)[0]


def _check_stored_currency(account: Customer | Company, traits: Traits) -> None:
    """Refuses amounts of an account whose amounts are said to be in another currency."""
    if find_currency(traits.custom) or not any(traits.columns.get(name) for name in AMOUNTS):
        return
    removed = {name.lower() for name, value in traits.custom.items() if value is None}
    said = find_currency(account.custom_fields) if CURRENCY not in removed else ""
    if said and said.upper() != account.organization.currency:
        reason = f"The custom field currency says {said[:10]}. Change it, or remove it with null."
        raise InvalidField("traits.currency", reason)


def _list_names(traits: Traits, context: Mapping[str, Any]) -> list[str]:
    """Returns what was sent, as `WriteResult` names it."""
    custom = (f"custom_fields.{name}" for name in traits.custom)
    return [*traits.columns, *custom, *(f"context.{key}" for key in context)]


def _note_times(
    account: Account, names: Iterable[str], at: datetime | None
) -> tuple[tuple[str, ...], list[IgnoredField]]:
    """Returns which of these are to be written, and those that a newer message has set."""
    times: dict[str, int] = dict(account.trait_times or {})
    now = (timezone.now() - EPOCH) // MICROSECOND
    stored: list[str] = []
    older: list[IgnoredField] = []
    for name in names:
        before = times.get(name, 0)
        # The clock of another process may be ahead of this one.
        sent = max(now, before) if at is None else (at - EPOCH) // MICROSECOND
        if sent < before:
            older.append(IgnoredField(_field_of(name), OLDER))
        else:
            times[name] = sent
            stored.append(name)
    account.trait_times = times
    return tuple(stored), older


def _forget_removed(account: Account, context: Mapping[str, Any]) -> None:
    """Keeps the times of the last removed fields only: a sender chooses how many there are."""
    kept = {f"custom_fields.{name}" for name in account.custom_fields}
    kept |= {f"context.{key}" for key in context}
    times = account.trait_times or {}
    removed = [name for name in times if "." in name and name not in kept]
    short = [name for name in removed if len(name) <= MAX_LABEL]
    last = frozenset(sorted(short, key=times.__getitem__)[-MAX_REMOVED:])
    for name in removed:
        if name not in last:
            del times[name]


def _field_of(name: str) -> str:
    """Returns the place in a request of what is stored under this name."""
    if name == COMPANY_ID or name.startswith("context."):
        return field_values.escape_name(name)
    return f"traits.{field_values.escape_name(name.removeprefix('custom_fields.'))}"


def _read(
    sent: Mapping[str, Any],
    known: Mapping[str, Known],
    managed: Collection[str],
    translate: Callable[[Mapping[str, Any], Mapping[str, Reader]], TranslatedTraits],
) -> Traits:
    def read(item: tuple[str, Any]) -> tuple[str, Any]:
        name, value = item
        if name in managed:
            raise InvalidField(f"traits.{name}", "Halo sets this field. Leave it out.")
        try:
            field_values.check_json({name: value})
            if name not in known:
                return name, value
            return name, known[name].empty if value is None else known[name].read(value)
        except InvalidValue as refused:
            raise InvalidField(f"traits.{field_values.escape_name(name)}", str(refused)) from None

    translated = translate(sent, {name: trait.read for name, trait in known.items()})
    own = ((name, value) for name, value in sent.items() if name not in translated.names)
    typed = dict(field_values.parse_each(read, own))
    columns = {name: value for name, value in typed.items() if name in known}
    for name, value in translated.values.items():
        columns[name] = known[name].empty if value is None else value
    return Traits(
        columns,
        {name: value for name, value in typed.items() if name not in known},
        translated.company_id,
        tuple(translated.ignored),
    )


def _entry(item: tuple[str, Any]) -> tuple[str, Mapping[str, Any] | None]:
    key, entry = item
    try:
        return key, None if entry is None else _typed_entry(key, entry)
    except InvalidValue as refused:
        raise InvalidField(f"context.{field_values.escape_name(key)}", str(refused)) from None


def _typed_entry(key: str, entry: Any) -> Mapping[str, Any]:
    field_values.check_json({key: entry})
    if not isinstance(entry, dict) or not {"label", "value"} <= entry.keys():
        raise InvalidValue("Send an object with label and value.")
    label = field_values.text(MAX_LABEL)(entry["label"])
    kind = field_values.choice(CONTEXT_TYPES)(entry.get("type", "custom"))
    return {"label": label, "type": kind, "value": entry["value"]}


def _write(account: Account, traits: Traits, stored: Iterable[str]) -> None:
    names = frozenset(stored)
    for column, value in traits.columns.items():
        if column in names:
            setattr(account, column, value)
    custom = {
        name: value for name, value in traits.custom.items() if f"custom_fields.{name}" in names
    }
    account.custom_fields = _merge_fields(account.custom_fields, custom)


def _merge_fields(stored: Mapping[str, Any], sent: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**stored, **sent}.items() if value is not None}
