"""The customer that a call is bound to, by `bound_end_user_id` or `bound_email` in `_meta`.

It is looked up for every call, in the organization of the token only. Nothing is cached.
Source: Halo, Scopes, Binding a customer to a session.
"""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from customers import customers
from foundation.db.storable import UNSTORABLE
from mcp_protocol.errors import quote_text
from tools_registry.api import BoundCustomer
from tools_registry.pipeline.invocation import BindingRejected

BY_ID: Final = "bound_end_user_id"
BY_EMAIL: Final = "bound_email"
BINDING_KEYS: Final = {BY_ID: None, BY_EMAIL: None}.keys()  # in the order of the audit row
# No id and no address that a customer can have is longer (RFC 5321, section 4.5.3.1.3).
MAX_LENGTH: Final = 254


def select_keys(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Of `_meta`, the part that names a customer."""
    return {key: meta[key] for key in BINDING_KEYS if key in meta}


def describe_attempt(meta: Mapping[str, Any]) -> str:
    """What `_meta` names, for the audit row: ids as given, email addresses masked.

    In ASCII, and within the length of the column. A value with an @ is masked under either key: a
    client may send an address as an id.
    """
    return ", ".join(f"{key}={_readable(value)}" for key, value in select_keys(meta).items())


def customer(organization_id: UUID, meta: Mapping[str, Any]) -> BoundCustomer | None:
    """Returns the customer that `_meta` names, or None if it names none.

    Raises BindingRejected, the same for every cause.
    """
    given = select_keys(meta)
    if not given:
        return None
    if not all(_may_name(value) for value in given.values()):
        raise BindingRejected(describe_attempt(given))
    found = customers.find_bound(
        organization_id, customer_id=given.get(BY_ID, ""), email=given.get(BY_EMAIL, "")
    )
    if found is None:
        raise BindingRejected(describe_attempt(given))
    return BoundCustomer(**found._asdict())


def _readable(value: Any) -> str:
    if not isinstance(value, str):
        return f"({type(value).__name__})"
    local, at, domain = value.rpartition("@")
    return quote_text(f"{local[:1]}***@{domain}" if at else value)


def _may_name(value: Any) -> bool:
    # Nothing is trimmed or normalised: what is not written as it was given out is not it.
    return isinstance(value, str) and 0 < len(value) <= MAX_LENGTH and not UNSTORABLE.search(value)
