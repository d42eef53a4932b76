"""Every path that answers, on one page: what is not listed here is not served."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from people.api.operations import ALL as OPERATIONS

ADMIN = "admin/"
PATHS = {
    # MCP clients
    "api/mcp",
    "api/mcp/oauth/register",
    "api/mcp/oauth/authorize",
    "api/mcp/oauth/consent",
    "api/mcp/oauth/token",
    "api/mcp/oauth/revoke",
    "api/mcp/oauth/scopes",
    "api/mcp/.well-known/oauth-protected-resource",
    "api/mcp/.well-known/oauth-authorization-server",
    "api/mcp/server-card",
    "<project:project_id>/server-card",
    "api/mcp/<project:project_id>/server-card",
    "w/<slug:workspace>/api/mcp/server-card",
    ".well-known/ai-catalog.json",
    ".well-known/mcp/catalog.json",
    ".well-known/mcp-registry-auth",
    ".well-known/oauth-authorization-server",
    ".well-known/oauth-authorization-server/api/mcp",
    ".well-known/oauth-protected-resource",
    ".well-known/oauth-protected-resource/api/mcp",
    ".well-known/security.txt",
    "token",
    "^.well-known/(.*)$",
    # Projects of the gateway
    "<project:project_id>",
    "api/mcp/<project:project_id>",
    "readyz",
    "register",
    "oauth/authorize",
    "oauth/token",
    "oauth/revoke",
    ".well-known/oauth-protected-resource/<project:project_id>",
    ".well-known/oauth-protected-resource/api/mcp/<project:project_id>",
    "<project:project_id>/.well-known/oauth-protected-resource",
    "<project:project_id>/.well-known/oauth-authorization-server",
    "api/mcp/<project:project_id>/.well-known/oauth-protected-resource",
    "api/mcp/<project:project_id>/.well-known/oauth-authorization-server",
    ".well-known/oauth-authorization-server/<project:project_id>",
    ".well-known/oauth-authorization-server/api/mcp/<project:project_id>",
    "connections/tokens",
    "connections/tokens/<uuid:token_id>/revoke",
    "members/undo",
    "projects-tokens",
    "projects-tokens/<uuid:token_id>/revoke",
    # Servers and pages of organizations
    "api/sdk/config",
    "api/sdk/alias",
    "api/sdk/users/merge",
    "api/sdk/joins/<str:join_id>/undo",
    "api/sdk/identify",
    "api/sdk/users/update",
    "api/sdk/companies",
    "api/sdk/companies/<path:company_id>",
    "api/sdk/customers/<path:user_id>",
    "api/sdk/tickets/create",
    "api/sdk/tickets/<str:ticket_id>",
    "api/sdk/tickets/<str:ticket_id>/messages",
    "api/sdk/events",
    "api/sdk/events/<path:event_id>",
    "api/sdk/chat/transcripts",
    "api/sdk/chat/transcripts/<path:session_id>",
    "api/sdk/openapi.json",
    # The HR endpoint of a workspace
    "w/<slug:workspace>/api/mcp",
    "w/<slug:workspace>/api/mcp/.well-known/oauth-protected-resource",
    ".well-known/oauth-protected-resource/w/<slug:workspace>/api/mcp",
    "w/<slug:workspace>/auth.md",
    # The HR API, whose contract names each address
    *(
        "w/<slug:workspace>/api/v1/" + one.path.replace("{", "<str:").replace("}", ">")
        for one in OPERATIONS
    ),
    "w/<slug:workspace>/api/v1/openapi.json",
    # People
    "",
    "ask",
    "ask/<uuid:organization_id>",
    "ask/<uuid:organization_id>/<str:name>",
    "approver-groups",
    "approver-groups/<uuid:group_id>",
    "approver-groups/<uuid:group_id>/delete",
    "projects/<str:project_id>/policy",
    "projects/<str:project_id>/policy/defaults",
    "projects/<str:project_id>/policy/undo",
    "projects/<str:project_id>/policy/<uuid:rule_id>",
    "projects/<str:project_id>/policy/<uuid:rule_id>/delete",
    "projects/<str:project_id>/policy/<uuid:rule_id>/move",
    "forms/discard",
    "jobs/<uuid:job_id>",
    "requests",
    "requests/<uuid:request_id>",
    "requests/<uuid:request_id>/approve",
    "requests/<uuid:request_id>/reject",
    "requests/<uuid:request_id>/withdraw",
    "requests/decide",
    "requests/review",
    "service-clients",
    "service-clients/<uuid:client_id>/credentials",
    "service-clients/<uuid:client_id>/switch",
    "service-clients/<uuid:client_id>/delete",
    "server-keys",
    "server-keys/<uuid:key_id>/revoke",
    "api-keys",
    "api-keys/<uuid:key_id>/revoke",
    "agent-keys",
    "agent-keys/<uuid:key_id>/revoke",
    "projects",
    "projects/new",
    "projects/imports/<uuid:draft_id>",
    "projects/imports/<uuid:draft_id>/discard",
    "projects/<str:project_id>",
    "projects/<str:project_id>/tools",
    "projects/<str:project_id>/servers",
    "projects/<str:project_id>/settings",
    "projects/<str:project_id>/delete",
    "projects/<str:project_id>/credentials",
    "projects/<str:project_id>/credentials/test",
    "usage",
    "connections",
    "connections/",
    "connections/revoke",
    "connections/<uuid:connection_id>",
    "connections/<uuid:connection_id>/ask-again",
    "connections/<uuid:connection_id>/revoke",
    "docs",
    "docs/",
    "docs/<slug:folder>/<slug:slug>",
    "docs/<slug:slug>",
    "docs/images/<slug:name>.png",
    "signin",
    "signin/code",
    "signin/confirm",
    "signin/confirm/code",
    "signin/confirm/passkey",
    "signin/inactive",
    "signin/passkey",
    "signout",
    "account/security",
    "account/security/app",
    "account/security/app/remove",
    "account/security/codes",
    "account/security/codes/new",
    "account/security/password",
    "account/security/passkeys/add",
    "account/security/passkeys/<int:pk>/remove",
    "account/security/passkeys/<int:pk>/rename",
    # Operators
    "^admin/tools_registry/billingrequest/(?P<rest>.*)$",
    "admin",
    "health",
    "healthz",
}
# What the packages underneath would serve if their URLs were mounted.
OF_PACKAGES = [
    "/o/authorize/",
    "/o/token/",
    "/o/introspect/",
    "/o/revoke_token/",
    "/o/applications/",
    "/o/applications/register/",
    "/o/authorized_tokens/",
    "/o/device-authorization/",
    "/o/userinfo/",
    "/o/.well-known/jwks.json",
    "/.well-known/openid-configuration",
    "/.well-known/jwks.json",
    "/api/mcp/oauth/introspect",
    "/accounts/login/",
    "/accounts/signup/",
    "/accounts/password/reset/",
    "/signup",
    "/accounts/2fa/",
    "/account/security/codes/download",
    "/api-auth/login/",
    "/__debug__/",
]


def list_routes(resolver: URLResolver, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every route with the module of what answers it."""
    for entry in resolver.url_patterns:
        route = prefix + str(entry.pattern)
        if isinstance(entry, URLPattern):
            yield route, entry.callback.__module__
        else:
            yield from list_routes(entry, route)


def test_exactly_these_paths_are_served() -> None:
    outside_admin = [
        route for route, _ in list_routes(get_resolver()) if not route.startswith(ADMIN)
    ]

    assert sorted(outside_admin) == sorted(PATHS)


def test_nothing_of_the_oauth_toolkit_is_mounted() -> None:
    modules = {module.partition(".")[0] for _, module in list_routes(get_resolver())}

    assert modules & {"oauth2_provider", "rest_framework"} == set()


@pytest.mark.django_db
@pytest.mark.parametrize("path", OF_PACKAGES)
def test_a_path_of_the_packages_underneath_does_not_answer(client: Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_every_path_can_be_read_in_the_one_file() -> None:
    from halo_mcp import urls  # noqa: PLC0415  the resolver comes first

    top = [str(entry.pattern) for entry in urls.urlpatterns]

    assert sorted(top) == sorted([*PATHS, ADMIN])
