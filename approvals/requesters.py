"""What the credential permits now that a request was made with."""

from dataclasses import replace
from uuid import UUID

from approvals.models import ApprovalRequest
from oauth import credentials
from oauth.principal import Principal, Unauthenticated
from tools_registry.pipeline.invocation import Surface


def find(row: ApprovalRequest, surface: Surface) -> Principal | None:
    """Returns what the requester's grant or key permits now, None once it has ended."""
    grant, kinds = UUID(row.authorization_id), surface.credentials
    try:
        current = credentials.recheck_grant(row.credential, grant, kinds)
    except Unauthenticated:
        return None
    if current.organization_id != row.organization_id:
        return None
    return replace(current, token_id=UUID(row.credential_id))
