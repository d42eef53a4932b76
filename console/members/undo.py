"""Undoing a change of a membership within an hour, by the person who made it.

The link carries what to restore, signed; it works while the membership is as the change left it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, cast

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.core import signing
from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from audit import usage
from console.members import changes
from console.members.changes import MemberChange
from foundation.links import link
from oauth.endpoints import replies
from workspace import organizations
from workspace.administration.access import grantable_roles, reach
from workspace.models import Membership, Organization, Role, User

SALT: Final = "console.members.undo"
UNDO_FOR: Final = timedelta(hours=1)
CHANGE: Final = "workspace.change_membership"


@dataclass(frozen=True, slots=True)
class UndoLink:
    """What a link undoes, and when it was offered."""

    change: MemberChange
    offered_at: datetime


def offer(text: str, change: MemberChange) -> SafeString:
    """Returns a message with a link that undoes the change."""
    given = {**change.as_json(), "offered_at": timezone.now().isoformat()}
    address = f"{reverse('member_undo')}?change={signing.dumps(given, salt=SALT)}"
    return format_html("{} {}", text, link(address, _("Undo")))


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    """Says what is restored, and restores it by POST."""
    if not isinstance(request.user, User):
        return redirect_to_login(request.get_full_path())
    undo_link = _read(request.GET.get("change", ""), request.user)
    change = undo_link.change
    organization = Organization.objects.filter(pk=change.organization_id).first()
    member = User.objects.filter(pk=change.user_id, is_active=True).first()
    if organization is None or member is None:
        raise Http404
    if request.method != "POST":
        context = {
            "change": change,
            "member": member,
            "organization": organization,
            "role": Role(change.role).label,
        }
        return replies.private(render(request, "console/member_undo.html", context))
    restored = _restore(request.user, undo_link, organization, member)
    if restored is None:
        messages.error(request, _("This was changed meanwhile, so it was not undone."))
    else:
        said = f"{change.kind} was undone"
        changes.record(request, "member_restored", request.user, restored, detail=said)
        messages.success(request, _("Undone."))
    return redirect("home")


def _read(signed: str, user: User) -> UndoLink:
    """The content of a link. Raises Http404 for one of another person, or that is too old."""
    try:
        given: Any = signing.loads(signed, salt=SALT, max_age=UNDO_FOR)
    except signing.BadSignature:
        raise Http404 from None
    change = MemberChange.from_json(cast("dict[str, Any]", given))
    if change.by != user.pk:
        raise Http404
    return UndoLink(change, datetime.fromisoformat(given["offered_at"]))


@transaction.atomic
def _restore(
    user: User, undo_link: UndoLink, organization: Organization, member: User
) -> Membership | None:
    """Restores a membership as it was; returns it, or None if that is not possible any more."""
    change = undo_link.change
    organizations.lock_memberships(change.organization_id)
    # The same state may be a later decision of another person, also after the link was used.
    if usage.has_event_since(
        changes.EVENTS, str(member.pk), str(organization.pk), undo_link.offered_at
    ):
        return None
    if change.kind == changes.ROLE_GIVEN_UP:
        # The right to give the role ended with it: who gave it up takes it back.
        return organizations.exchange_role(
            change.membership_id, user, now=change.now, role=change.role
        )
    roles = grantable_roles(user, change.organization_id)
    if not reach(user, CHANGE).includes(change.organization_id) or change.role not in roles:
        return None
    if change.kind == changes.SUSPENDED:
        return organizations.restore_suspended_at(change.membership_id, change.now)
    return _join_again(change, organization, member)


def _join_again(
    change: MemberChange, organization: Organization, member: User
) -> Membership | None:
    """A new membership like the one that was removed; None if there is one again."""
    try:
        with transaction.atomic():
            row = organizations.join(organization, member, role=Role(change.role))
    except IntegrityError:  # or the person or the organization is gone
        return None
    if change.was_suspended:
        organizations.suspend_member(row)
    return row
