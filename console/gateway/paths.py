"""The paths of the pages of projects, which `halo_mcp/urls.py` includes."""

from django.urls import path

from console.gateway import credentials, groups, imports, projects

PATHS = [
    path("projects", projects.index, name="projects"),
    path("projects/new", imports.new, name="project_new"),
    path("projects/imports/<uuid:draft_id>", imports.preview, name="project_import"),
    path("projects/imports/<uuid:draft_id>/discard", imports.discard, name="project_discard"),
    path("projects/<str:project_id>", projects.project, name="project"),
    path("projects/<str:project_id>/tools", projects.tools, name="project_tools"),
    path("projects/<str:project_id>/settings", projects.change, name="project_settings"),
    path("projects/<str:project_id>/servers", projects.confirm_servers, name="project_servers"),
    path("projects/<str:project_id>/delete", projects.delete, name="project_delete"),
    path("projects/<str:project_id>/credentials", credentials.index, name="project_credentials"),
    path(
        "projects/<str:project_id>/credentials/test",
        credentials.test,
        name="project_credentials_test",
    ),
    path("approver-groups", groups.index, name="approver_groups"),
    path("approver-groups/<uuid:group_id>", groups.one, name="approver_group"),
    path("approver-groups/<uuid:group_id>/delete", groups.delete, name="approver_group_delete"),
    path("usage", projects.usage, name="gateway_usage"),
]
