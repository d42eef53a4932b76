"""Groups of approvers, and their changes by the admins of an organization.

A rule that names nobody leaves its requests to the owner of the project. So a group that a rule
names cannot be deleted, and one without members approves nothing.
"""

from collections.abc import Collection
from typing import Final

from django.db import transaction
from django.db.models import QuerySet

from audit import record
from gateway.models import ApproverGroup, PolicyRule, Project
from gateway.rules.editing import Editor
from workspace.administration.access import organizations_administered
from workspace.models import Organization, User

MAX_GROUPS: Final = 100
ADDRESSES_OF_EVENT: Final = 4


class TooManyGroups(Exception):
    """The organization has as many groups as it may have."""


class GroupInUse(Exception):
    """A rule names the group."""


def groups_of(user: User) -> QuerySet[ApproverGroup]:
    """Returns the groups of the organizations that a person is an admin of."""
    rows = ApproverGroup.objects.filter(organization__in=organizations_administered(user))
    return rows.select_related("organization")


def rules_naming(group: ApproverGroup) -> list[PolicyRule]:
    """Returns the rules that name a group, by project and position."""
    rows = PolicyRule.objects.filter(approver_groups=group).select_related("project")
    return [*rows.order_by("project__name", "project", "position")]


def add(organization: Organization, name: str, by: Editor) -> ApproverGroup:
    """Adds a group without members. Raises TooManyGroups, and IntegrityError for a known name."""
    with transaction.atomic():
        if ApproverGroup.objects.filter(organization=organization).count() >= MAX_GROUPS:
            raise TooManyGroups
        group = ApproverGroup.objects.create(organization=organization, name=name)
        _record(group, by, f"added “{name}”")
    return group


def change(group: ApproverGroup, name: str, members: Collection[User], by: Editor) -> None:
    """Renames a group and sets its members. Raises IntegrityError for a known name."""
    with transaction.atomic():
        old_name, before = group.name, {*_addresses(group.members.all())}
        after = {*_addresses(members)}
        if (old_name, before) == (name, after):
            return
        ApproverGroup.objects.filter(pk=group.pk).update(name=name)
        group.members.set(members)
        renamed = f"“{old_name}”" if name == old_name else f"“{old_name}” to “{name}”"
        added, removed = sorted(after - before), sorted(before - after)
        # A detail has room for few addresses.
        for start in range(0, max(len(added), len(removed), 1), ADDRESSES_OF_EVENT):
            of_event = slice(start, start + ADDRESSES_OF_EVENT)
            _record(
                group,
                by,
                f"changed {renamed}, added {added[of_event]}, removed {removed[of_event]}",
            )


def delete(group: ApproverGroup, by: Editor) -> None:
    """Deletes a group. Raises GroupInUse."""
    with transaction.atomic():
        # The lock of every change of a policy: no rule names the group meanwhile.
        projects = Project.objects.select_for_update().filter(organization=group.organization_id)
        _locked = [*projects.order_by("pk").values_list("pk")]
        if rules_naming(group):
            raise GroupInUse
        _record(group, by, f"deleted “{group.name}”, members {_addresses(group.members.all())}")
        group.delete()


def _addresses(people: Collection[User] | QuerySet[User]) -> list[str]:
    return sorted(person.email for person in people)


def _record(group: ApproverGroup, by: Editor, detail: str) -> None:
    record.security_event(
        "approver_group_changed",
        address=by.address,
        subject=str(group.pk),
        organization_id=str(group.organization_id),
        user_id=str(by.user.pk),
        detail=detail,
    )
