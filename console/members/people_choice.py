"""Which members a form offers for a task that needs signing in, as approving requests."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from allauth.mfa.models import Authenticator
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from workspace import access
from workspace.access import Access
from workspace.models import User


def list_people_who_can_sign_in(organization_id: UUID) -> QuerySet[User]:
    """Returns the active members of an organization who have a password or a passkey."""
    members = access.active_memberships(Access(organization_id))
    passkeys = Authenticator.objects.filter(type=Authenticator.Type.WEBAUTHN)
    has_password = ~Q(password="") & ~Q(password__startswith=UNUSABLE_PASSWORD_PREFIX)
    return User.objects.filter(
        has_password | Q(pk__in=passkeys.values("user")),
        pk__in=members.values("user"),
        is_active=True,
        is_program=False,
    )


def offer(field: Any, organization_id: UUID, chosen: Iterable[Any]) -> None:
    """Offers the people who can sign in, and those who are chosen already, marked if they cannot.

    A select without the chosen person would choose another one when the form is saved.
    """
    able = list_people_who_can_sign_in(organization_id)
    able_ids = {*able.values_list("pk", flat=True)}
    offered = Q(pk__in=able_ids) | Q(pk__in=[*chosen])
    field.queryset = User.objects.filter(offered).order_by("email")
    cannot = _("%(person)s (cannot sign in now)")
    field.label_from_instance = lambda person: (
        str(person) if person.pk in able_ids else cannot % {"person": person}
    )
