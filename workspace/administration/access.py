"""Who may do what in the admin, and in which organizations.

Two sources of rights add up: Django permissions of platform staff hold in every organization, and
the role of a membership holds in its own organization
(`docs/decisions/0032-roles-in-the-admin.md`).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast
from uuid import UUID

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from workspace.models import ACTIVE_MEMBERSHIP, Membership, Role, User

M = TypeVar("M", bound=Model)
Visitor = AbstractBaseUser | AnonymousUser

ADMINS: Final = frozenset({Role.SUPER_ADMIN, Role.ADMIN})
VERBS: Final = ("view", "add", "change", "delete")

# What an organization's admins may do in it, by model. Models that are missing here are closed.
VERBS_OF_ADMINS: Final[Mapping[str, tuple[str, ...]]] = {
    "workspace.organization": ("view", "change"),
    "workspace.featureflag": VERBS,
    "workspace.agent": ("view", "change"),
    "workspace.membership": ("view", "change", "delete"),
    "workspace.user": ("view",),
    # Deleting is resetting: no page deletes a single factor.
    "mfa.authenticator": ("view", "delete"),
    "workspace.customer": VERBS,
    "workspace.company": ("view",),
    "workspace.lead": ("view",),
    "workspace.ticket": ("view",),
    "workspace.conversation": ("view",),
    "workspace.feedback": ("view",),
    "workspace.event": ("view",),
    "workspace.join": ("view",),
    "workspace.dataimport": ("view", "add", "delete"),
    "workspace.knowledgesource": VERBS,
    "workspace.outgoingmail": ("view", "resend"),
    "tools_registry.integrationmode": VERBS,
    "tools_registry.actiontoggle": VERBS,
    "approvals.approvalrequest": ("view", "decide"),
    "gateway.project": VERBS,
    "gateway.projecttool": ("view",),
    "gateway.upstreamcredential": ("view",),
    "gateway.plan": ("view",),
    "gateway.monthlyusage": ("view",),
    "agents.agentdefinition": VERBS,
    "agents.agentoption": VERBS,
    "agents.languagemodel": VERBS,
    "agents.session": ("view",),
    "agents.sessionturn": ("view",),
    "people.person": VERBS,
    "people.personprofile": VERBS,
    "people.employmentrecord": VERBS,
    "people.personrelationship": VERBS,
    "people.orgunit": VERBS,
    "people.orgunitmembership": VERBS,
    "people.document": VERBS,
    "people.customfield": VERBS,
    "people.customfieldvalue": VERBS,
    "people.workingpattern": VERBS,
    "people.referenceitem": VERBS,
    "people.timeoff": VERBS,
    "people.timeoffcategory": VERBS,
    "people.timeoffsettings": VERBS,
    "people.leavepolicy": VERBS,
    "people.ledgerentry": VERBS,
    "people.lengthchange": ("view",),
    "people.holidaycalendar": VERBS,
    "people.publicholiday": VERBS,
    "audit.actionexecution": ("view",),
    "audit.securityevent": ("view",),
    "oauth.client": ("view",),
    "oauth.authorization": ("view", "change"),
    "oauth.accesstoken": ("view",),
    "oauth.refreshtoken": ("view",),
    "oauth.grant": ("view",),
    "oauth.mcptoken": ("view", "change"),
    "oauth.serverkey": ("view", "add", "change"),
    "oauth.serviceclient": ("view", "change"),
}
PERMISSIONS_OF_ADMINS: Final = frozenset(
    f"{app}.{verb}_{model}"
    for (app, model), verbs in ((name.split("."), verbs) for name, verbs in VERBS_OF_ADMINS.items())
    for verb in verbs
)
# The roles that each role may give or take away. Superusers may give and take all of them.
GRANTABLE: Final[Mapping[str, tuple[Role, ...]]] = {
    Role.SUPER_ADMIN: (Role.SUPER_ADMIN, Role.ADMIN, Role.MEMBER),
    Role.ADMIN: (Role.ADMIN, Role.MEMBER),
}


@dataclass(frozen=True, slots=True)
class Reach:
    """The organizations in which a permission is granted. False if there are none."""

    everywhere: bool = False
    organizations: frozenset[UUID] = frozenset()

    def __bool__(self) -> bool:
        return self.everywhere or bool(self.organizations)

    def __or__(self, other: "Reach") -> "Reach":
        return Reach(self.everywhere or other.everywhere, self.organizations | other.organizations)

    def __and__(self, other: "Reach") -> "Reach":
        if self.everywhere or other.everywhere:
            return other if self.everywhere else self
        return Reach(organizations=self.organizations & other.organizations)

    def includes(self, organization_id: UUID) -> bool:
        return self.everywhere or organization_id in self.organizations

    def limit(self, rows: QuerySet[M], lookup: str) -> QuerySet[M]:
        """Returns the rows of these organizations, which `lookup` leads to from a row."""
        if self.everywhere:
            return rows
        if not self.organizations or not lookup:
            return rows.none()
        own: dict[str, Any] = {f"{lookup}__in": sorted(self.organizations)}
        if is_shared(rows.model, lookup):
            # A join would return a row once per organization.
            return rows.filter(pk__in=QuerySet(rows.model).filter(**own).values("pk"))
        return rows.filter(**own)


EVERYWHERE: Final = Reach(everywhere=True)


def is_shared(model: type[Model], lookup: str) -> bool:
    """Returns whether a row may belong to several organizations at a time."""
    place: Any = model
    for name in lookup.split("__")[:-1]:
        field = place._meta.get_field(name)
        if field.one_to_many:
            return True
        place = field.related_model
    return False


def organizations_administered(user: Visitor) -> frozenset[UUID]:
    """Returns the organizations, none of them suspended, in which a person is an admin."""
    if not user.is_active or cast("User", user).is_program:
        return frozenset()
    roles = cast("User", user).active_roles
    return frozenset(organization for organization, role in roles.items() if role in ADMINS)


def list_admins(organization_ids: Collection[UUID]) -> list[User]:
    """Returns the people who can administer any of these organizations now, by address."""
    rows = Membership.objects.filter(
        ACTIVE_MEMBERSHIP, organization__in=organization_ids, role__in=ADMINS
    )
    people = User.objects.filter(pk__in=rows.values("user"), is_active=True, is_program=False)
    return list(people.order_by("email"))


def reach(user: Visitor, *permissions: str) -> Reach:
    """Returns where a person has all of these permissions, each as `app_label.codename`."""
    found = EVERYWHERE
    for permission in permissions:
        found &= _reach(user, permission)
    return found


def may_enter(user: Visitor) -> bool:
    """Returns whether a user may open the admin."""
    if not user.is_active:
        return False
    return cast("User", user).is_staff or bool(organizations_administered(user))


def build_rights_key(user: Visitor) -> tuple[Any, ...]:
    """Returns a key that is equal for visitors who may do the same somewhere.

    Where they may do it can differ.
    """
    if not user.is_active:
        return ()
    person = cast("User", user)
    if person.is_staff and person.is_superuser:
        return ("everything",)
    permissions = ModelBackend().get_all_permissions(person) if person.is_staff else ()
    is_admin = bool(organizations_administered(person))
    return (person.is_superuser, frozenset(permissions), is_admin)


def grantable_roles(user: Visitor, organization_id: UUID) -> tuple[Role, ...]:
    """Returns the roles that a person may give or take away in an organization."""
    person = cast("User", user)
    if person.is_superuser:
        return tuple(Role)
    return GRANTABLE.get(person.active_roles.get(organization_id, ""), (Role.MEMBER,))


def context(request: HttpRequest) -> dict[str, Any]:
    """Template context of every page: whether to show links to the admin."""
    user = getattr(request, "user", None)
    may = SimpleLazyObject(lambda: user is not None and may_enter(user))
    return {"may_open_admin": may}


class AdminPermissions:
    """The template variable `perms` on pages of the admin, with the permissions of roles."""

    def __init__(self, user: Visitor, app_label: str = "") -> None:
        self.user, self.app_label = user, app_label

    def __getitem__(self, name: str) -> "AdminPermissions | bool":
        if not self.app_label:
            return AdminPermissions(self.user, name)
        return bool(reach(self.user, f"{self.app_label}.{name}"))

    def __iter__(self) -> Any:
        # Prevents templates from iterating over the names without end.
        raise TypeError("Permissions cannot be listed.")


def _reach(user: Visitor, permission: str) -> Reach:
    if not user.is_active:
        return Reach()
    person = cast("User", user)
    if person.is_staff and (person.is_superuser or ModelBackend().has_perm(person, permission)):
        return EVERYWHERE
    if permission not in PERMISSIONS_OF_ADMINS:
        return Reach()
    return Reach(organizations=organizations_administered(person))
