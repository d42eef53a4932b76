"""Changes of memberships: what each was, its record, and the notice to open streams."""

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest

from audit import record as audit_record
from oauth.endpoints import replies
from workspace.changes import publish
from workspace.models import Membership, User

SUSPENDED: Final = "suspended"
REMOVED: Final = "removed"
ROLE_GIVEN_UP: Final = "role_given_up"
# The kinds of security events that `record` writes.
EVENTS: Final = ("member_suspended", "member_restored", "member_removed", "role_changed")
IDS: Final = ("by", "membership_id", "user_id", "organization_id")
OTHERS: Final = ("kind", "role", "was_suspended", "now")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberChange:
    """A change by `by`: `role` and `was_suspended` are those of the membership before it.

    `now` is what the change left: the new role, or the time of the suspension.
    """

    kind: str
    by: UUID
    membership_id: UUID
    user_id: UUID
    organization_id: UUID
    role: str
    was_suspended: bool
    now: str = ""

    @classmethod
    def from_row(
        cls, kind: str, by: User, row: Membership, *, role: str = "", now: str = ""
    ) -> "MemberChange":
        """Describes a change of a row, whose role was another one before if `role` is given."""
        return cls(
            kind=kind,
            by=by.pk,
            membership_id=row.pk,
            user_id=row.user_id,
            organization_id=row.organization_id,
            role=role or row.role,
            was_suspended=kind != SUSPENDED and row.suspended_at is not None,
            now=now,
        )

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> "MemberChange":
        ids: dict[str, Any] = {name: UUID(given[name]) for name in IDS}
        return cls(**ids, **{name: given[name] for name in OTHERS})

    def as_json(self) -> dict[str, Any]:
        ids = {name: str(getattr(self, name)) for name in IDS}
        return {**ids, **{name: getattr(self, name) for name in OTHERS}}


def record(
    request: HttpRequest, kind: str, user: User, row: Membership, *, detail: str = ""
) -> None:
    """Records a change of a membership by a user, and notifies the organization's open streams."""
    by = f"by {user}"
    audit_record.security_event(
        kind,
        address=replies.address_of(request),
        subject=str(row.user_id),
        organization_id=str(row.organization_id),
        user_id=str(user.pk),
        detail=f"{detail}, {by}" if detail else by,
    )
    publish([row.organization_id])
