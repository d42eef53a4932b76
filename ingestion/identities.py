"""Which customer and company a request may name, by who sends it.

With identity verification on, a page proves what it says of a customer's id, email and company by
the claims of its identity token: a customer could otherwise take another one's place, or read the
data of another company. Source: docs/sdk-api.md, Authentication.
"""

from collections.abc import Mapping
from typing import Any, Final

from customers.identification import profiles
from customers.identification.field_values import InvalidField
from customers.identification.profiles import Profile
from ingestion.callers import SdkCaller
from rest.errors import field_error

# Claims of an identity token that are traits as well.
TRAIT_CLAIMS: Final = ("email", "name", "role", "plan")
MAX_ID: Final = 200


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


def profile(caller: SdkCaller, external_id: str, sent: Mapping[str, Any]) -> Profile:
    """Returns the profile of an identify; the token's claims take precedence over traits.

    Raises ApiError and InvalidField.
    """
    traits = dict(sent.get("traits", {}))
    claims = {name: caller.claims[name] for name in TRAIT_CLAIMS if caller.claims.get(name)}
    is_page = not caller.is_server and caller.is_verifying
    if is_page and "email" in traits and traits["email"] != claims.get("email"):
        raise field_error(403, "traits.email", "The identity token does not name this address.")
    named = company_id(caller, sent.get("company_id"))
    return profiles.parse(external_id, {**traits, **claims}, sent.get("context", {}), named)


def email(caller: SdkCaller, sent: str) -> str:
    """Returns the proven address of the customer: a server's, or the one in the token."""
    claimed = caller.claims.get("email", "")
    return sent if caller.is_server else claimed if isinstance(claimed, str) else ""


def _claimed_company(caller: SdkCaller) -> str | None:
    claimed = caller.claims.get("company_id")
    if isinstance(claimed, int) and not isinstance(claimed, bool):
        claimed = str(claimed)
    if claimed is None or (isinstance(claimed, str) and len(claimed) <= MAX_ID):
        return claimed
    raise InvalidField("user_token", "The claim company_id has to be a string.")
