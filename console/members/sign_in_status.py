"""Why a person can or cannot sign in, for those who administer their organization."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from allauth.mfa.models import Authenticator
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from audit import usage
from foundation.links import link
from workspace.administration.access import Reach
from workspace.administration.times import time_tag
from workspace.models import User

FAILURES_OF: Final = timedelta(days=1)
BREAK: Final = mark_safe("<br>")


def describe(person: User, reach: Reach) -> SafeString:
    """Returns a list of what lets the person in and what keeps them out, with who can change it.

    Of memberships, only those in the organizations of `reach` are named.
    """
    return format_html_join(BREAK, "{}", ((line,) for line in _list_facts(person, reach)))


def _list_facts(person: User, reach: Reach) -> Iterator[Any]:
    yield from _describe_account(person)
    yield from _describe_second_step(person)
    yield from _describe_memberships(person, reach)


def _describe_account(person: User) -> Iterator[Any]:
    if person.is_program:
        yield _("A service client: it uses its own credentials and never signs in.")
        return
    if not person.is_active:
        yield _("The account is deactivated. The operator of this server can activate it.")
    kinds = {row.type for row in _list_factors(person)}
    if not person.has_usable_password():
        yield (
            _("No password is set; a passkey signs in.")
            if Authenticator.Type.WEBAUTHN in kinds
            else _("No password is set. The operator of this server can set one.")
        )
    if person.last_login is None:
        yield _("Never signed in.")
    else:
        yield format_html("{} {}", _("Last sign-in:"), time_tag(person.last_login))


def _describe_second_step(person: User) -> Iterator[Any]:
    rows = _list_factors(person)
    if not rows:
        yield _("No two-step verification: the password alone signs in.")
        return
    for row in rows:
        used = time_tag(row.last_used_at) or _("never")
        yield format_html("{}: {} {}", row.get_type_display(), _("last used"), used)
    address = f"{reverse('admin:mfa_authenticator_changelist')}?{urlencode({'q': person.email})}"
    yield link(address, _("Reset two-step verification"))
    failures = usage.count_failed_second_steps(str(person.pk), timezone.now() - FAILURES_OF)
    if failures:
        text = _("%(n)d incorrect codes or passkeys in the last 24 hours, after a right password.")
        yield text % {"n": failures}


def _describe_memberships(person: User, reach: Reach) -> Iterator[Any]:
    rows = reach.limit(person.memberships.select_related("organization"), "organization")
    for row in rows:
        name = {"name": row.organization.name}
        if row.organization.suspended_at:
            yield _("%(name)s is suspended. The operator of this server can restore it.") % name
        elif row.suspended_at:
            yield _("Suspended in %(name)s. Its admins can restore the member.") % name


def _list_factors(person: User) -> list[Authenticator]:
    return list(Authenticator.objects.filter(user=person).order_by("pk"))


def find_organization(person: User) -> UUID | None:
    """Returns an organization of the person, the first one they joined."""
    rows = person.memberships.order_by("created_at")
    found: UUID | None = rows.values_list("organization_id", flat=True).first()
    return found
