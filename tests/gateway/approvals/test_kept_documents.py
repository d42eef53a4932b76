"""The texts of a project's documents: the newest are kept, and those that open requests need."""

from typing import Any

import pytest

from approvals.models import ApprovalRequest, ApprovalStatus
from gateway import projects
from gateway.models import Project, ProjectDocument
from gateway.tasks import prune_documents
from tests.drivers.reviewed_project import ReviewedProject
from tests.gateway import shop


@pytest.fixture(autouse=True)
def _two_kept_documents(settings: Any) -> None:
    settings.HALO_GATEWAY_KEPT_DOCUMENTS = 2


def import_again(project: ReviewedProject, times: int) -> None:
    for _ in range(times):
        projects.reimport(project.row, shop.text(), project.row.owner)


def versions(project: ReviewedProject) -> list[int]:
    rows = ProjectDocument.objects.filter(project=project.row).order_by("version")
    return list(rows.values_list("version", flat=True))


def test_an_import_leaves_the_newest_documents(project: ReviewedProject) -> None:
    import_again(project, 4)
    assert versions(project) == [4, 5]


@pytest.mark.parametrize("status", [ApprovalStatus.PENDING, ApprovalStatus.RUNNING])
def test_a_document_stays_until_requests_that_were_made_with_it_are_decided(
    project: ReviewedProject, status: str
) -> None:
    import_again(project, 1)
    # The change of the address is a version without a document: the request is of version 3.
    projects.change(project.row, project.row.owner, target_url="https://other.example/v1")
    request = project.request()
    assert request.version == 3
    ApprovalRequest.objects.update(status=status)
    import_again(project, 3)
    assert versions(project) == [2, 5, 6]
    assert prune_documents() == 0
    ApprovalRequest.objects.update(status=ApprovalStatus.DECLINED)
    assert prune_documents() == 1
    assert versions(project) == [5, 6]


def test_each_project_has_its_own_number(project: ReviewedProject, settings: Any) -> None:
    settings.HALO_GATEWAY_KEPT_DOCUMENTS = 5
    import_again(project, 3)
    row = Project.objects.create(
        organization=project.grant.organization, name="Other", target_url="https://b.example"
    )
    other = ReviewedProject(project.grant, row, project.mcp, project.surface)
    import_again(other, 3)
    settings.HALO_GATEWAY_KEPT_DOCUMENTS = 1
    assert prune_documents() == 4
    assert (versions(project), versions(other)) == ([4], [4])
