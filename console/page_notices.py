"""What every page says to a person whose organizations give them nothing, and whom to ask.

A context processor of all templates. Its values are read when a page shows them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject
from django.utils.safestring import SafeString

from foundation.links import link
from workspace.administration.access import list_admins, reach
from workspace.models import ACTIVE_MEMBERSHIP, Membership, User

MAX_ADMINS: Final = 5
# What staff need for the links at the end of pages; admins of an organization have all of them.
LINKS: Final = {
    "audit_log": "audit.view_actionexecution",
    "service_clients": "oauth.view_serviceclient",
    "server_keys": "oauth.view_serverkey",
}


@dataclass(frozen=True, slots=True)
class PausedMembership:
    """A membership that gives no rights now; `admins` can restore it, else the operators can."""

    organization: str
    since: datetime
    is_organization: bool
    """Whether the whole organization is suspended, and not this member alone."""
    admins: Sequence[User] = ()


@dataclass(frozen=True, slots=True)
class Notice:
    """Which memberships are paused, and whether the person has none at all."""

    paused: Sequence[PausedMembership]
    has_none: bool

    def __bool__(self) -> bool:
        return self.has_none or bool(self.paused)


def context(request: HttpRequest) -> dict[str, Any]:
    """Template context of every page."""
    user = getattr(request, "user", None)
    return {
        "operator_contact": _contact_link(),
        "membership_notice": SimpleLazyObject(lambda: find_notice(user)),
        "may_open": SimpleLazyObject(lambda: _find_links(user)),
    }


def find_notice(user: Any) -> Notice:
    """Returns what a signed-in person has to know about their memberships."""
    if not isinstance(user, User):
        return Notice((), has_none=False)
    rows = user.memberships.exclude(ACTIVE_MEMBERSHIP).select_related("organization")
    paused = [_describe(row) for row in rows.order_by("organization__name")]
    return Notice(paused, has_none=not (paused or user.active_roles or user.is_staff))


def _describe(row: Membership) -> PausedMembership:
    place = row.organization
    if place.suspended_at:
        return PausedMembership(place.name, place.suspended_at, is_organization=True)
    admins = list_admins([place.pk])[:MAX_ADMINS]
    since = row.suspended_at or row.created_at
    return PausedMembership(place.name, since, is_organization=False, admins=admins)


def _contact_link() -> SafeString:
    """The address of the operators, a link if it is a page; empty without one."""
    contact = str(settings.HALO_SUPPORT_CONTACT)
    return link(contact, contact.removeprefix("mailto:"))


def _find_links(user: Any) -> dict[str, bool]:
    return {
        name: isinstance(user, User) and bool(reach(user, permission))
        for name, permission in LINKS.items()
    }
