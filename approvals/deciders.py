"""Who may decide the requests of a surface: a port that a family of surfaces binds at start-up.

Without one, the admins of the organization decide, and requesters cannot approve their own request.
"""

from collections.abc import Iterable
from typing import Final, Protocol

from django.db.models import Q
from django.utils.translation import gettext as _

from approvals.models import ApprovalRequest
from oauth import server_keys
from workspace.administration.access import ADMINS as ADMIN_ROLES
from workspace.administration.access import reach
from workspace.models import Membership, User

DECIDE: Final = "approvals.decide_approvalrequest"


class Deciders(Protocol):
    """The rules of one family of surfaces, read again with each decision.

    `may_repeat` says whether a request that failed, or has an unknown outcome, may be executed
    again with the same idempotency key: only where the other side is known to honor it.
    """

    may_repeat: bool

    def may_decide(self, user: User, request: ApprovalRequest) -> bool: ...

    def list_deciders(self, request: ApprovalRequest) -> Iterable[User]:
        """Returns the members of the organization who may decide, in a few statements."""
        ...

    def may_approve_own(self, request: ApprovalRequest) -> bool: ...


class Admins:
    """Users with the permission to decide, as in Django admin."""

    may_repeat = True

    def may_decide(self, user: User, request: ApprovalRequest) -> bool:
        return reach(user, DECIDE).includes(request.organization_id)

    def list_deciders(self, request: ApprovalRequest) -> Iterable[User]:
        rows = Membership.objects.filter(organization=request.organization_id)
        candidates = rows.filter(Q(role__in=ADMIN_ROLES) | Q(user__is_staff=True))
        for row in candidates.select_related("user"):
            if self.may_decide(row.user, request):
                yield row.user

    def may_approve_own(self, request: ApprovalRequest) -> bool:  # noqa: ARG002  the port's
        return False


ADMINS: Final = Admins()
_families: Final[dict[str, Deciders]] = {}


def bind(prefix: str, deciders: Deciders) -> None:
    """Registers the rules of the surfaces whose names are `prefix:...`."""
    _families[prefix] = deciders


def get_rules(request: ApprovalRequest) -> Deciders:
    """Returns the rules of the surface that a request was made through."""
    prefix, colon, _rest = request.surface.partition(":")
    return _families.get(prefix, ADMINS) if colon else ADMINS


def find_requester(request: ApprovalRequest) -> str:
    """Returns the id of the person whose request it is, empty if that is not known.

    A key has no user. It acts for whoever knows its secret, which its creator has been shown.
    """
    if request.user_id:
        return request.user_id
    creator = server_keys.creator_of(request.authorization_id)
    return str(creator) if creator else ""


def is_own(request: ApprovalRequest, user: User) -> bool:
    """Returns whether the request is this user's: made in their name, or with a key they made."""
    return str(user.pk) == find_requester(request)


def explain_own(request: ApprovalRequest, user: User) -> str:
    """Returns why a user may not approve their own request, and whether anybody else may."""
    if any(other != user for other in get_rules(request).list_deciders(request)):
        return _("You made this request. Another person has to approve it.")
    return _(
        "You made this request, or the key that made it, and no other person in the organization "
        "may approve it. Another person needs a role that may, or has to make the request."
    )


def may_approve(user: User, request: ApprovalRequest) -> bool:
    """Returns whether the user may approve the request, in whatever state it is."""
    rules = get_rules(request)
    if is_own(request, user) and not rules.may_approve_own(request):
        return False
    return rules.may_decide(user, request)
