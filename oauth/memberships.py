"""The principal of a signed-in person in one of their organizations, without a token.

The membership is in place of a credential: it has no secret, so no request can present it as a
bearer. It is read again for every call, together with the person and the organization: a person who
has left or is deactivated, and a suspended member or organization, have no principal.
Why: docs/decisions/0053-calls-of-people.md.
"""

from typing import Final
from uuid import UUID

from oauth import credentials, scopes
from oauth.credentials import Verifier
from oauth.principal import Principal, Unauthenticated
from workspace.models import ACTIVE_MEMBERSHIP, Membership

# `Principal.credential` of a membership.
MEMBERSHIP: Final = "membership"
# What any member may grant to a client. The surface decides what of it is used.
SCOPE: Final = scopes.SUPPORTED


def principal(user_id: UUID, organization_id: UUID) -> Principal:
    """Returns the principal of a person in an organization.

    Raises Unauthenticated, the same for an organization that does not exist.
    """
    return _find_principal(user=user_id, organization=organization_id)


def _recheck_membership(membership_id: UUID) -> Principal:
    return _find_principal(pk=membership_id)


def _find_principal(**named: UUID) -> Principal:
    rows = Membership.objects.select_related("user", "organization")
    row = rows.filter(ACTIVE_MEMBERSHIP, user__is_active=True).filter(**named).first()
    if row is None:
        raise Unauthenticated("invalid_token")
    return credentials.build_principal(row, MEMBERSHIP, SCOPE)


def _refuse(_secret: str) -> Principal:
    raise Unauthenticated("invalid_token")


VERIFIER: Final = Verifier(
    verify=_refuse, recheck=_recheck_membership, recheck_grant=_recheck_membership
)
