"""Names that other products give to traits: Segment, PostHog, Intercom and Mixpanel.

Apps send what they send to those products too. A trait under another name would be a custom field
that nothing reads, with the name or the sign-up missing. Source: docs/identification.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from customers.identification import external_ids, field_values
from customers.identification.field_values import InvalidValue, Reader

FIRST_NAMES: Final = ("firstName", "first_name", "$first_name")
LAST_NAMES: Final = ("lastName", "last_name", "$last_name")
MISPLACED: Final = "Send it next to the traits."
COMPANY_PARTS: Final = "Its id is read. Send what else is known of a company to /api/sdk/companies."


@dataclass(frozen=True, slots=True)
class IgnoredField:
    """A field of a request that is not stored, and why."""

    field: str
    reason: str


@dataclass(frozen=True, slots=True)
class OtherName:
    """Another name of a trait, and how its value is read there, if otherwise."""

    trait: str
    read: Reader | None = None


def _avatar(value: Any) -> str:
    """Reads an address, or the object of Intercom that has it."""
    address: str = field_values.text(2048)(
        value.get("image_url") if isinstance(value, dict) else value
    )
    return address


def _sign_up(value: Any) -> Any:
    return field_values.check_happened(field_values.unix_time(value), field_values.FIRST_SIGN_UP)


OF_ALL: Final[Mapping[str, OtherName]] = {
    "createdAt": OtherName("signed_up_at", _sign_up),
    "created_at": OtherName("signed_up_at", _sign_up),
    "signedUpAt": OtherName("signed_up_at", _sign_up),
    "$created": OtherName("signed_up_at", _sign_up),
}
OF_CUSTOMERS: Final[Mapping[str, OtherName]] = {
    **OF_ALL,
    "fullName": OtherName("name"),
    "full_name": OtherName("name"),
    "displayName": OtherName("name"),
    "$name": OtherName("name"),
    "$email": OtherName("email"),
    "emailAddress": OtherName("email"),
    "avatarUrl": OtherName("avatar", _avatar),
    "avatar_url": OtherName("avatar", _avatar),
    "$avatar": OtherName("avatar", _avatar),
}
OF_COMPANIES: Final[Mapping[str, OtherName]] = {
    **OF_ALL,
    "remote_created_at": OtherName("signed_up_at", _sign_up),
    "website": OtherName("domain"),
    "employees": OtherName("employee_count"),
    "size": OtherName("employee_count"),
    "numberOfEmployees": OtherName("employee_count"),
    "monthly_spend": OtherName("mrr"),
}
# What other products keep among the traits and Halo does not.
NOT_TRAITS: Final[Mapping[str, str]] = {
    "userId": MISPLACED,
    "user_id": MISPLACED,
    "companyId": MISPLACED,
    "groupId": MISPLACED,
    "companies": "Send the company_id of one company next to the traits.",
    "custom_attributes": "Send each of them as a trait.",
    "anonymousId": "Halo joins no visits by it.",
    "anonymous_id": "Halo joins no visits by it.",
}


@dataclass(slots=True)
class TranslatedTraits:
    """What other names say: typed values by trait, a company's id, and what is not stored."""

    values: dict[str, Any] = field(default_factory=dict)
    company_id: str | None = None
    ignored: list[IgnoredField] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def ignore(self, name: str, reason: str) -> None:
        self.ignored.append(IgnoredField(f"traits.{field_values.escape_name(name)}", reason))


def translate_customer(sent: Mapping[str, Any], readers: Mapping[str, Reader]) -> TranslatedTraits:
    """Returns what the traits of a customer say under the names of other products.

    A trait under its own name counts. What cannot be read as the trait is not stored, and does not
    fail the request: it was not written for Halo.
    """
    result = _translate(sent, OF_CUSTOMERS, readers)
    _join_names(sent, readers["name"], result)
    _read_company(sent, result)
    return result


def translate_company(sent: Mapping[str, Any], readers: Mapping[str, Reader]) -> TranslatedTraits:
    """Returns what the traits of a company say under such names, as `translate_customer`."""
    return _translate(sent, OF_COMPANIES, readers)


def _translate(
    sent: Mapping[str, Any], others: Mapping[str, OtherName], readers: Mapping[str, Reader]
) -> TranslatedTraits:
    result = TranslatedTraits()
    for name in sent:
        other = others.get(name)
        if other is not None:
            result.names.add(name)
            _translate_value(sent, name, other, readers[other.trait], result)
        elif name in NOT_TRAITS:
            result.names.add(name)
            result.ignore(name, NOT_TRAITS[name])
    return result


def _translate_value(
    sent: Mapping[str, Any], name: str, other: OtherName, read: Reader, result: TranslatedTraits
) -> None:
    value = sent[name]
    if other.trait in sent or other.trait in result.values:
        result.ignore(name, f"{other.trait} is sent too.")
    elif value is None:
        result.values[other.trait] = None
    else:
        try:
            result.values[other.trait] = (other.read or read)(value)
        except InvalidValue as refused:
            result.ignore(name, f"It is read as {other.trait}. {refused}")


def _join_names(sent: Mapping[str, Any], read: Reader, result: TranslatedTraits) -> None:
    first = next((name for name in FIRST_NAMES if name in sent), "")
    last = next((name for name in LAST_NAMES if name in sent), "")
    every = [name for name in (*FIRST_NAMES, *LAST_NAMES) if name in sent]
    result.names |= {*every}
    if not every:
        return
    for other in every:
        if other not in {first, last}:
            result.ignore(other, f"{first if other in FIRST_NAMES else last} is sent too.")
    if "name" in sent or "name" in result.values:
        for one in filter(None, (first, last)):
            result.ignore(one, "name is sent too.")
    elif not first:
        # The first name is stored already, perhaps, and would be replaced.
        result.ignore(last, "Send the first name too, or name.")
    else:
        parts = [sent[one] for one in (first, last) if one and sent[one] is not None]
        try:
            texts = [read(part) for part in parts]
            result.values["name"] = read(" ".join(filter(None, texts)))
        except InvalidValue as refused:
            for one in filter(None, (first, last)):
                result.ignore(one, f"It is read as a part of name. {refused}")


def _read_company(sent: Mapping[str, Any], result: TranslatedTraits) -> None:
    """Reads the id of the object `company`. A text of this name is a custom field."""
    company = sent.get("company")
    if not isinstance(company, dict):
        return
    result.names.add("company")
    named = company.get("id", company.get("company_id"))
    if isinstance(named, int) and not isinstance(named, bool):
        named = str(named)
    try:
        result.company_id = external_ids.parse_id(named)
    except InvalidValue as refused:
        result.ignore("company.id", str(refused))
    if company.keys() - {"id", "company_id"}:
        result.ignore("company", COMPANY_PARTS)
