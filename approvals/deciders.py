"""Who may decide a request: members of the organization, by the rules of its surface.

Requesters cannot approve their own request, unless the rules say so.
"""

import json

from django.utils.translation import gettext as _

from approvals.models import ApprovalRequest
from approvals.surface_rules import find_rules
from oauth import server_keys
from workspace.models import User


def find_requester(request: ApprovalRequest) -> str:
    """Returns the id of the person whose request it is, empty if that is not known.

    A key has no user. It acts for any holder of its secret, which its creator has been shown.
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
    if any(other != user for other in find_rules(request).deciders.list_deciders(request)):
        return _("You made this request. Another person has to approve it.")
    return _(
        "You made this request, or the key that made it, and no other person in the organization "
        "may approve it. Another person needs a role that may, or has to make the request."
    )


def may_approve(user: User, request: ApprovalRequest) -> bool:
    """Returns whether the user may approve the request, in whatever state it is."""
    deciders = find_rules(request).deciders
    if is_own(request, user) and not deciders.may_approve_own(request):
        return False
    return deciders.may_decide(user, request)


def decider_key(request: ApprovalRequest) -> str:
    """Returns what is equal for requests that the same people decide."""
    requester = request.user_id or request.authorization_id
    place = str(request.organization_id)
    return json.dumps([place, request.surface, requester, request.rule], sort_keys=True)
