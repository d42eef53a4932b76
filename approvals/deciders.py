"""Who may decide the requests of a surface: a port that a family of surfaces binds at start-up.

Without one, the admins of the organization decide, and requesters cannot approve their own request.
"""

from typing import Final, Protocol

from approvals.models import ApprovalRequest
from workspace.administration.access import reach
from workspace.models import User

DECIDE: Final = "approvals.decide_approvalrequest"


class Deciders(Protocol):
    """The rules of one family of surfaces, read again with each decision.

    `may_repeat` says whether a request that failed, or has an unknown outcome, may be executed
    again with the same idempotency key: only where the other side is known to honor it.
    """

    may_repeat: bool

    def may_decide(self, user: User, request: ApprovalRequest) -> bool: ...

    def may_approve_own(self, request: ApprovalRequest) -> bool: ...


class Admins:
    """Users with the permission to decide, as in Django admin."""

    may_repeat = True

    def may_decide(self, user: User, request: ApprovalRequest) -> bool:
        return reach(user, DECIDE).includes(request.organization_id)

    def may_approve_own(self, request: ApprovalRequest) -> bool:  # noqa: ARG002  the port's
        return False


ADMINS: Final = Admins()
_families: Final[dict[str, Deciders]] = {}


def bind(prefix: str, deciders: Deciders) -> None:
    """Registers the rules of the surfaces whose names are `prefix:...`."""
    _families[prefix] = deciders


def of(request: ApprovalRequest) -> Deciders:
    """Returns the rules of the surface that a request was made through."""
    prefix, colon, _rest = request.surface.partition(":")
    return _families.get(prefix, ADMINS) if colon else ADMINS


def is_own(request: ApprovalRequest, user: User) -> bool:
    """Returns whether the request was made in this user's name."""
    return str(user.pk) == request.user_id


def may_approve(user: User, request: ApprovalRequest) -> bool:
    """Returns whether the user may approve the request, in whatever state it is."""
    rules = of(request)
    if is_own(request, user) and not rules.may_approve_own(request):
        return False
    return rules.may_decide(user, request)
