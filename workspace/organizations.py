"""Operations on organizations and memberships."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.text import slugify

from foundation import ids, sealing
from foundation.resealing import SealedColumn
from workspace import flags
from workspace.models import (
    ACTIVE_MEMBERSHIP,
    Agent,
    AgentKind,
    FeatureFlag,
    Membership,
    Organization,
    Role,
    User,
)


@transaction.atomic
def create(name: str, *, owner: User) -> Organization:
    """Creates an organization with its keys, its Ask AI agent and `owner` as its super admin."""
    organization = establish(Organization(name=name, slug=_free_slug(name)))
    join(organization, owner, role=Role.SUPER_ADMIN)
    return organization


@transaction.atomic
def establish(organization: Organization) -> Organization:
    """Saves a new organization with its keys and its Ask AI agent."""
    organization.widget_key = ids.opaque("ab_live_")
    organization.identity_secret = _seal_secret(organization, ids.opaque("ha_secret_"))
    organization.save(force_insert=True)
    Agent.objects.create(organization=organization, kind=AgentKind.ASK_AI, name="Ask AI")
    return organization


def join(organization: Organization, user: User, *, role: Role = Role.MEMBER) -> Membership:
    return Membership.objects.create(organization=organization, user=user, role=role)


def suspend_member(membership: Membership) -> datetime | None:
    """Pauses the role, connections and tokens of a member; returns since when.

    Returns None if they are suspended already, or have another role than was read: who may do it
    depends on the role.
    """
    now = timezone.now()
    rows = Membership.objects.filter(pk=membership.pk, role=membership.role, suspended_at=None)
    return now if rows.update(suspended_at=now) else None


def restore_member(membership: Membership) -> bool:
    """Gives a suspended member with the role that was read everything back; returns whether."""
    rows = Membership.objects.filter(
        pk=membership.pk, role=membership.role, suspended_at__isnull=False
    )
    return bool(rows.update(suspended_at=None))


def lock_memberships(organization_id: UUID) -> None:
    """Makes other changes of an organization's memberships wait for the end of the transaction."""
    list(Organization.objects.select_for_update(no_key=True).filter(pk=organization_id))


def exchange_role(membership_id: UUID, user: User, *, now: str, role: str) -> Membership | None:
    """Gives an active member a role in place of `now`; None if that is no longer their role."""
    rows = Membership.objects.filter(pk=membership_id)
    is_done = rows.filter(ACTIVE_MEMBERSHIP, user=user, role=now).update(role=role)
    return rows.first() if is_done else None


def restore_suspended_at(membership_id: UUID, since: str) -> Membership | None:
    """Restores a member who is suspended since that time; None if that is no longer so."""
    row = Membership.objects.filter(pk=membership_id, suspended_at__isnull=False).first()
    if row is None or row.suspended_at is None or row.suspended_at.isoformat() != since:
        return None
    return row if restore_member(row) else None


def flag(organization_id: UUID, name: str) -> bool:
    """Returns whether a feature is on: the organization's choice, or the flag's default."""
    return read_flags(organization_id)[name]


def read_flags(organization_id: UUID) -> Mapping[str, bool]:
    """Returns whether each feature is on, with one statement."""
    chosen = FeatureFlag.objects.filter(organization=organization_id)
    return {**flags.DEFAULTS, **dict(chosen.values_list("name", "enabled"))}


def identity_secret(organization: Organization) -> str | None:
    """Returns the secret that signs the organization's identity tokens, or None.

    Raises SealBroken if no configured key decrypts it, or it belongs to another row.
    """
    sealed = organization.identity_secret
    if sealed is None:
        return None
    return sealing.unseal(bytes(sealed), context=_place(organization)).decode()


def rotate_identity_secret(organization: Organization) -> str:
    """Replaces the identity secret; tokens signed with the old one are no longer valid."""
    secret = ids.opaque("ha_secret_")
    organization.identity_secret = _seal_secret(organization, secret)
    organization.save(update_fields=["identity_secret"])
    return secret


def _seal_secret(organization: Organization, secret: str) -> bytes:
    return sealing.seal(secret.encode(), context=_place(organization))


def _place(organization: Organization) -> bytes:
    # The context is the row, so the secret cannot be decrypted in another row.
    return f"workspace.organization:{organization.id}:identity_secret".encode()


def _reseal(organization: Organization, sealed: bytes) -> None:
    organization.identity_secret = sealed
    organization.save(update_fields=["identity_secret"])


SEALED: Final = SealedColumn(
    name="identity secrets",
    rows=lambda: Organization.objects.filter(identity_secret__isnull=False).only("identity_secret"),
    read=lambda organization: bytes(organization.identity_secret),
    write=_reseal,
    context=_place,
)


def _free_slug(name: str) -> str:
    base = slugify(name)[:50] or "organization"
    taken = set(Organization.objects.filter(slug__startswith=base).values_list("slug", flat=True))
    numbered = (f"{base}-{number}" for number in range(2, len(taken) + 3))
    return next(slug for slug in (base, *numbered) if slug not in taken)
