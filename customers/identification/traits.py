"""Traits: what an organization's own app sends about its customers and companies.

A known trait has a column and a type, every other one is kept in `custom_fields`. A trait that is
null empties its column, or removes the custom field. Source: docs/sdk-api.md, Traits.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from customers.identification import field_values
from customers.identification.field_values import InvalidField, InvalidValue, Reader
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


@dataclass(frozen=True, slots=True)
class Known:
    """A trait with a column: how it is read, and what null stores."""

    read: Reader
    empty: Any = None


def _text(max_length: int) -> Known:
    return Known(field_values.text(max_length), "")


def _choice(values: Collection[str]) -> Known:
    return Known(field_values.choice(values), "")


ACCOUNT: Final[Mapping[str, Known]] = {
    "plan": _text(100),
    "signed_up_at": Known(field_values.time),
    "renewal_status": _choice(RenewalStatus.values),
    "renewal_date": Known(field_values.day),
    "contract_term": _choice(Term.values),
    "payment_terms": _choice(Term.values),
    "on_contract": Known(field_values.flag),
    "mrr": Known(field_values.money),
    "arr": Known(field_values.money),
}
CUSTOMER: Final[Mapping[str, Known]] = {
    "name": _text(200),
    "email": Known(field_values.email, ""),
    "avatar": _text(2048),
    "role": _text(100),
    "lifecycle": Known(field_values.choice(Lifecycle.values), Lifecycle.ACTIVE),
    **ACCOUNT,
}
COMPANY: Final[Mapping[str, Known]] = {
    "name": _text(200),
    "domain": _text(253),
    "industry": _text(100),
    "employee_count": Known(field_values.whole),
    **ACCOUNT,
}
# Halo sets these; a request that sends one is refused.
MANAGED_OF_ALL: Final = ("id", "external_id", "org_id", "created_at", "updated_at")
MANAGED_OF_CUSTOMERS: Final = (
    *MANAGED_OF_ALL,
    "company_id",
    "first_seen",
    "last_seen",
    "last_contacted_at",
)
MANAGED_OF_COMPANIES: Final = (*MANAGED_OF_ALL, "health_score", "team_size", "last_contacted_at")


@dataclass(frozen=True, slots=True)
class Traits:
    """Values of columns, and of custom fields; None removes a custom field."""

    columns: Mapping[str, Any] = field(default_factory=dict)
    custom: Mapping[str, Any] = field(default_factory=dict)


def parse_customer_traits(sent: Mapping[str, Any]) -> Traits:
    """Returns typed traits. Raises InvalidField."""
    return _read(sent, CUSTOMER, MANAGED_OF_CUSTOMERS)


def parse_company_traits(sent: Mapping[str, Any]) -> Traits:
    """Returns typed traits. Raises InvalidField."""
    traits = _read(sent, COMPANY, MANAGED_OF_COMPANIES)
    if field_values.json_bytes(sent) > MAX_COMPANY_BYTES:
        raise InvalidField("traits", f"Send at most {MAX_COMPANY_BYTES} bytes of JSON.")
    return traits


def context_entries(sent: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns context entries, `{label, type, value}` by key; None removes one.

    Raises InvalidField.
    """
    return dict(field_values.parse_each(_entry, sent.items()))


def write_customer(customer: Customer, traits: Traits, context: Mapping[str, Any]) -> None:
    """Sets what was sent and keeps the rest. Raises InvalidField if the customer grows too large.

    Traits and context of a customer have MAX_USER_BYTES together, however many requests sent them.
    """
    _write(customer, traits)
    customer.context = _merge_fields(customer.context, context)
    stored = field_values.json_bytes([customer.custom_fields, customer.context])
    if stored > MAX_USER_BYTES:
        reason = f"The custom fields and context of a customer have at most {MAX_USER_BYTES} bytes."
        raise InvalidField("traits", reason)


def write_company(company: Company, traits: Traits) -> None:
    """Sets what was sent and keeps the rest. Raises InvalidField if the company grows too large."""
    _write(company, traits)
    if field_values.json_bytes(company.custom_fields) > MAX_COMPANY_BYTES:
        reason = f"The custom fields of a company have at most {MAX_COMPANY_BYTES} bytes."
        raise InvalidField("traits", reason)


def _read(sent: Mapping[str, Any], known: Mapping[str, Known], managed: Collection[str]) -> Traits:
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

    typed = dict(field_values.parse_each(read, sent.items()))
    return Traits(
        {name: value for name, value in typed.items() if name in known},
        {name: value for name, value in typed.items() if name not in known},
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


def _write(account: Account, traits: Traits) -> None:
    for column, value in traits.columns.items():
        setattr(account, column, value)
    account.custom_fields = _merge_fields(account.custom_fields, traits.custom)


def _merge_fields(stored: Mapping[str, Any], sent: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**stored, **sent}.items() if value is not None}
