"""The only way to read projects for a person; others' and missing ones look the same."""

import re
from typing import Final

from django.db.models import QuerySet

from gateway.models import ImportDraft, Project
from oauth import scopes
from workspace.administration.access import organizations_administered
from workspace.models import User

PROJECT_ID: Final = re.compile(scopes.PROJECT_ID)


def projects_of(user: User) -> QuerySet[Project]:
    """Returns the projects of the organizations that a person is a member of."""
    rows = Project.objects.filter(organization__in=sorted(user.active_roles))
    return rows.select_related("organization")


def project_for(user: User, project_id: str) -> Project:
    """Returns a project that a person may use. Raises Project.DoesNotExist."""
    if not PROJECT_ID.fullmatch(project_id):
        raise Project.DoesNotExist
    return projects_of(user).get(pk=project_id)


def lock_project(project: Project) -> Project:
    """Returns a project as it is now, locked until the transaction ends. Raises DoesNotExist."""
    return Project.objects.select_for_update().get(pk=project.pk)


def may_edit(user: User, project: Project) -> bool:
    """Returns whether a person is an admin of the project's organization."""
    return project.organization_id in organizations_administered(user)


def editable_project_for(user: User, project_id: str) -> Project:
    """Returns a project that a person may change. Raises Project.DoesNotExist."""
    project = project_for(user, project_id)
    if not may_edit(user, project):
        raise Project.DoesNotExist
    return project


def drafts_of(user: User) -> QuerySet[ImportDraft]:
    """Returns the imports that a person has begun and may still save."""
    own = ImportDraft.objects.filter(
        user=user, organization__in=sorted(organizations_administered(user))
    )
    return own.select_related("organization", "project")
