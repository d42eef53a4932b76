"""Which customer and company a request may name, by who sends it.

With identity verification on, a page proves what it says of a customer's id, email and company by
the claims of its identity token: a customer could otherwise take another one's place, or read the
data of another company. Source: docs/sdk-api.md, Authentication.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from customers.identification import currencies, external_ids, profiles, traits
from customers.identification.field_values import InvalidField, InvalidValue
from customers.identification.joins import JoinedBy
from customers.identification.profiles import Profile
from customers.identification.trait_names import IgnoredField
from customers.identification.traits import Known, Traits
from ingestion.callers import SdkCaller
from rest.errors import field_error
from workspace.models import JoinOrigin

# Claims of an identity token that are traits as well.
TRAIT_CLAIMS: Final = ("email", "name", "role", "plan")


def user_id(caller: SdkCaller, named: str, place: str = "user_id") -> str:
    """Returns the external id of the customer that a request is about; empty for a visitor.

    Raises ApiError if the caller may not name this customer.
    """
    if caller.identity is not None:
        if named and named != caller.identity.user_id:
            raise field_error(403, place, "The identity token names another customer.")
        return caller.identity.user_id
    if named and not caller.is_server and caller.is_verifying:
        raise field_error(403, place, "Send an identity token of this customer.")
    return named


def company_id(caller: SdkCaller, named: str | None) -> str | None:
    """Returns the external id of the customer's company; None if nothing is said of it.

    Raises ApiError if the caller may not name this company.
    """
    claimed = _claimed_company(caller)
    if caller.is_server or not caller.is_verifying or named == claimed:
        return claimed if named is None else named
    if named is None:
        return claimed
    raise field_error(403, "company_id", "The identity token does not name this company.")


def profile(
    caller: SdkCaller, external_id: str, sent: Mapping[str, Any], at: datetime | None
) -> Profile:
    """Returns the profile of an identify; the token's claims take precedence over traits.

    Raises ApiError and InvalidField.
    """
    context = sent.get("context", {})
    parsed = profiles.parse(external_id, sent.get("traits", {}), context, at=at)
    sessions = dict.fromkeys(sent.get(name, "") for name in ("session_id", "anonymous_id"))
    proven = traits.parse_customer_traits(
        {name: caller.claims[name] for name in TRAIT_CLAIMS if caller.claims.get(name)}
    )
    claimed = restrict(caller, parsed.traits, traits.CUSTOMER)
    claimed = currencies.check_traits(claimed, caller.organization.currency)
    if not caller.is_server and caller.is_verifying:
        claimed = _check_email(claimed, proven)
    named = company_id(caller, sent.get("company_id"))
    if named is None and (caller.is_server or not caller.is_verifying):
        named = claimed.company_id
    if claimed.company_id not in {None, named}:
        reason = profiles.OTHER_COMPANY if named else traits.SERVERS_ONLY
        ignored = IgnoredField("traits.company.id", reason)
        claimed = replace(claimed, ignored=(*claimed.ignored, ignored))
    columns = {**claimed.columns, **proven.columns}
    return replace(
        parsed,
        traits=replace(claimed, columns=columns),
        company_id=named,
        session_ids=[one for one in sessions if one],
    )


def restrict(caller: SdkCaller, sent: Traits, known: Mapping[str, Known]) -> Traits:
    """Returns the traits that this caller may write; the others are ignored."""
    if caller.may_claim_all:
        return sent
    return traits.keep_claims(sent, known)


def _check_email(claimed: Traits, proven: Traits) -> Traits:
    """Returns the traits without the email that a page may not remove.

    Raises ApiError for an address that the token does not name.
    """
    address = claimed.columns.get("email", proven.columns.get("email"))
    if address == proven.columns.get("email"):
        return claimed
    if address:
        raise field_error(403, "traits.email", "The identity token does not name this address.")
    columns = {name: value for name, value in claimed.columns.items() if name != "email"}
    ignored = IgnoredField("traits.email", traits.SERVERS_ONLY)
    return replace(claimed, columns=columns, ignored=(*claimed.ignored, ignored))


def email(caller: SdkCaller, sent: str) -> str:
    """Returns the proven address of the customer: a server's, or the one in the token."""
    claimed = caller.claims.get("email", "")
    return sent if caller.is_server else claimed if isinstance(claimed, str) else ""


def proves_email(caller: SdkCaller, sent: Profile) -> bool:
    """Returns whether the address of a profile is a server's, or the one in the token."""
    if caller.is_server or (caller.identity and "email" not in sent.traits.columns):
        return True
    return bool(caller.identity and caller.claims.get("email"))


def make_joined_by(caller: SdkCaller) -> JoinedBy:
    """Returns where the joins that a request makes come from."""
    origin = JoinOrigin.SERVER if caller.is_server else JoinOrigin.PAGE
    return JoinedBy(origin, caller.credential)


def _claimed_company(caller: SdkCaller) -> str | None:
    claimed = caller.claims.get("company_id")
    if isinstance(claimed, int) and not isinstance(claimed, bool):
        claimed = str(claimed)
    if claimed is None or claimed == "":
        return claimed
    try:
        return external_ids.parse_id(claimed)
    except InvalidValue as refused:
        raise InvalidField("user_token", f"The claim company_id: {refused}") from None
