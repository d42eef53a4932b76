"""The customer that a call is bound to, by `bound_end_user_id` or `bound_email` in `_meta`.

Looked up for every call anew, in the organization of its token alone. Nothing is remembered.
Source: Halo, Scopes, Binding a customer to a session.
"""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from foundation.storable import UNSTORABLE
from mcp_protocol.errors import INVALID_PARAMS, ProtocolError
from tools_registry.types import Customer
from workspace import customers

BY_ID: Final = "bound_end_user_id"
BY_EMAIL: Final = "bound_email"
BINDING_KEYS: Final = (BY_ID, BY_EMAIL)
# No id and no address that a customer can have is longer (RFC 5321, section 4.5.3.1.3).
LONGEST: Final = 254


def named(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Of `_meta`, the part that names a customer."""
    return {key: meta[key] for key in BINDING_KEYS if key in meta}


def customer(organization_id: UUID, meta: Mapping[str, Any]) -> Customer | None:
    """The customer that `_meta` names; None where it names none.

    Raises ProtocolError (-32602), the same for whatever is wrong: a caller must not learn which
    ids exist elsewhere, or that two customers share an address.
    """
    given = named(meta)
    if not given:
        return None
    if not all(_may_name(value) for value in given.values()):
        raise _rejected()
    found = customers.bound(
        organization_id, customer_id=given.get(BY_ID, ""), email=given.get(BY_EMAIL, "")
    )
    if found is None:
        raise _rejected()
    return Customer(**found._asdict())


def _may_name(value: Any) -> bool:
    # Nothing is trimmed or normalised: what is not written as it was given out is not it.
    return isinstance(value, str) and 0 < len(value) <= LONGEST and not UNSTORABLE.search(value)


def _rejected() -> ProtocolError:
    return ProtocolError(
        INVALID_PARAMS,
        "The bound customer does not exist in this organization.",
        data={"reason": "binding_rejected", "layer": "binding"},
    )
