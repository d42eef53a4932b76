"""All public paths.

The ASGI server answers surfaces without Django (`halo_mcp/asgi.py`); the view below is for servers
that support only WSGI.
"""

from allauth.account import views as account
from django.contrib import admin
from django.urls import path, re_path, register_converter
from django.views.generic import RedirectView

from console import (
    connections,
    discovery,
    errors,
    kept_forms,
    page_jobs,
    personal_tokens,
    security_contact,
    server_keys,
    service_clients,
    views,
)
from console.account import passwords, security_page
from console.account import sign_in_pages as pages
from console.ask import pages as ask
from console.gateway import policy, requests
from console.gateway import tokens as project_tokens
from console.gateway.paths import PATHS as PROJECT_PAGES
from console.members import undo as member_undo
from halo_mcp import mounts
from halo_mcp.server.health import health, readiness
from ingestion.contract import PREFIX as SDK
from ingestion.routes import ROUTES, openapi
from oauth.endpoints import authorize, consent, metadata, registration, token_endpoint
from oauth.endpoints.page_limits import limit_requests
from oauth.scopes import PROJECT_ID
from people.api.routes import PATTERNS as HR_API
from people.api.routes import WORKSPACE
from people.mcp import documents as hr_documents


class ProjectConverter:
    """The id of a project in a path."""

    regex = PROJECT_ID

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(ProjectConverter, "project")

WELL_KNOWN = ".well-known"
PROJECT = "<project:project_id>"
SECURITY = "account/security"
PASSKEYS = f"{SECURITY}/passkeys"
SURFACE_PATHS = sorted({mounted_at for _host, mounted_at in mounts.SURFACES})

# The admin's own page would bypass the limits on failed sign-ins.
admin.site.password_change = passwords.change_own  # type: ignore[assignment, method-assign]  # Django has no other place for it

confirm, own = limit_requests("confirm"), limit_requests("security")
unkept = security_page.for_its_person

urlpatterns = [
    # --- MCP clients ---
    *(path(mount[1:], mounts.view, name="mcp") for mount in SURFACE_PATHS),
    path("api/mcp/oauth/register", registration.register, name="oauth_register"),
    path("api/mcp/oauth/authorize", authorize.authorize, name="oauth_authorize"),
    path("api/mcp/oauth/consent", consent.consent, name="oauth_consent"),
    path("api/mcp/oauth/token", token_endpoint.token, name="oauth_token"),
    path("api/mcp/oauth/revoke", token_endpoint.revoke, name="oauth_revoke"),
    # The default of 2025-03-26: a client that is started again and has not read the metadata yet
    # refreshes there.
    path("token", token_endpoint.token),
    path(metadata.SCOPES_PATH[1:], metadata.all_scopes, name="oauth_scopes"),
    path(f"{WELL_KNOWN}/oauth-authorization-server", metadata.authorization_server),
    path(f"{WELL_KNOWN}/oauth-authorization-server/api/mcp", metadata.authorization_server),
    path(f"{WELL_KNOWN}/oauth-protected-resource", metadata.protected_resource),
    path(f"{WELL_KNOWN}/oauth-protected-resource/api/mcp", metadata.protected_resource),
    path("api/mcp/server-card", discovery.workspace_card, name="server_card"),
    *(path(f"{WELL_KNOWN}/{name}", discovery.catalog) for name in discovery.PATHS),
    path(f"{WELL_KNOWN}/{discovery.REGISTRY_PROOF}", discovery.registry_proof),
    # The same names behind the address itself, where some clients look first.
    path(f"api/mcp/{WELL_KNOWN}/oauth-protected-resource", metadata.protected_resource),
    path(f"api/mcp/{WELL_KNOWN}/oauth-authorization-server", metadata.authorization_server),
    # --- Projects of the gateway, and the paths of their document for the authorization server ---
    path(PROJECT, mounts.view, name="project_mcp"),
    path(f"api/mcp/{PROJECT}", mounts.view, name="project_mcp_alias"),
    path("register", registration.register),
    path("oauth/authorize", authorize.authorize),
    path("oauth/token", token_endpoint.token),
    path("oauth/revoke", token_endpoint.revoke_or_refuse),
    path(f"{WELL_KNOWN}/oauth-protected-resource/{PROJECT}", metadata.project_resource),
    path(f"{WELL_KNOWN}/oauth-protected-resource/api/mcp/{PROJECT}", metadata.project_resource),
    *(
        path(f"{where}{WELL_KNOWN}/{name}", view)
        for where in (f"{PROJECT}/", f"api/mcp/{PROJECT}/")
        for name, view in (
            ("oauth-protected-resource", metadata.project_resource),
            ("oauth-authorization-server", metadata.authorization_server),
        )
    ),
    *(
        path(f"{WELL_KNOWN}/oauth-authorization-server/{where}", metadata.authorization_server)
        for where in (PROJECT, f"api/mcp/{PROJECT}")
    ),
    path(f"{PROJECT}/server-card", discovery.project_card),
    path(f"api/mcp/{PROJECT}/server-card", discovery.project_card),
    # --- The HR endpoint of a workspace ---
    path(f"{WORKSPACE}api/mcp", mounts.view, name="hr_mcp"),
    path(f"{WELL_KNOWN}/oauth-protected-resource/{WORKSPACE}api/mcp", hr_documents.metadata),
    path(f"{WORKSPACE}api/mcp/{WELL_KNOWN}/oauth-protected-resource", hr_documents.metadata),
    path(f"{WORKSPACE}api/mcp/server-card", discovery.hr_card),
    path(f"{WORKSPACE}auth.md", hr_documents.access, name="hr_access"),
    path(f"{WELL_KNOWN}/security.txt", security_contact.security_txt, name="security_txt"),
    re_path(rf"^{WELL_KNOWN}/(.*)$", metadata.not_found),
    # --- Servers and pages of organizations ---
    *(path(SDK + where, view) for where, view in ROUTES.items()),
    path(f"{SDK}openapi.json", openapi, name="sdk_openapi"),
    *HR_API,
    # --- People ---
    path("", views.home, name="home"),
    path("docs", RedirectView.as_view(url="/docs/", query_string=True)),
    path("docs/", views.documentation_index, name="documentation_index"),
    path("docs/<slug:slug>", views.documentation, name="documentation"),
    path("docs/images/<slug:name>.png", views.documentation_image, name="documentation_image"),
    path("docs/<slug:folder>/<slug:slug>", views.staff_documentation, name="staff_documentation"),
    path("ask", ask.index, name="ask"),
    path("ask/<uuid:organization_id>", ask.tools, name="ask_tools"),
    path("ask/<uuid:organization_id>/<str:name>", ask.tool, name="ask_tool"),
    path("connections", connections.index, name="connections"),
    path("connections/", RedirectView.as_view(url="/connections", query_string=True)),
    path("connections/tokens", personal_tokens.index, name="personal_tokens"),
    path(
        "connections/tokens/<uuid:token_id>/revoke",
        personal_tokens.revoke,
        name="personal_token_revoke",
    ),
    path("connections/revoke", connections.revoke_all, name="connections_revoke"),
    path("connections/<uuid:connection_id>", connections.connection, name="connection"),
    path(
        "connections/<uuid:connection_id>/ask-again",
        connections.ask_again,
        name="connection_ask_again",
    ),
    path("connections/<uuid:connection_id>/revoke", connections.revoke, name="connection_revoke"),
    *PROJECT_PAGES,
    path("projects/<str:project_id>/policy", policy.index, name="project_policy"),
    path(
        "projects/<str:project_id>/policy/defaults", policy.defaults, name="project_policy_defaults"
    ),
    path("projects/<str:project_id>/policy/undo", policy.undo, name="project_policy_undo"),
    path(
        "projects/<str:project_id>/policy/<uuid:rule_id>", policy.rule, name="project_policy_rule"
    ),
    path(
        "projects/<str:project_id>/policy/<uuid:rule_id>/move",
        policy.move,
        name="project_policy_move",
    ),
    path(
        "projects/<str:project_id>/policy/<uuid:rule_id>/delete",
        policy.delete,
        name="project_policy_delete",
    ),
    path("forms/discard", kept_forms.discard, name="kept_form_discard"),
    path("jobs/<uuid:job_id>", page_jobs.page, name="page_job"),
    path("requests", requests.index, name="approval_requests"),
    path("requests/review", requests.review, name="approval_requests_review"),
    path("requests/decide", requests.decide, name="approval_requests_decide"),
    path("requests/<uuid:request_id>", requests.one, name="approval_request"),
    path("requests/<uuid:request_id>/approve", requests.approve, name="approval_request_approve"),
    path("requests/<uuid:request_id>/reject", requests.reject, name="approval_request_reject"),
    path(
        "requests/<uuid:request_id>/withdraw", requests.withdraw, name="approval_request_withdraw"
    ),
    path("service-clients", service_clients.index, name="service_clients"),
    path(
        "service-clients/<uuid:client_id>/credentials",
        service_clients.credentials,
        name="service_client_credentials",
    ),
    path(
        "service-clients/<uuid:client_id>/switch",
        service_clients.switch,
        name="service_client_switch",
    ),
    path(
        "service-clients/<uuid:client_id>/delete",
        service_clients.end,
        name="service_client_end",
    ),
    path("server-keys", server_keys.index, {"page": server_keys.SDK}, name="server_keys"),
    path(
        "server-keys/<uuid:key_id>/revoke",
        server_keys.revoke,
        {"page": server_keys.SDK},
        name="server_key_revoke",
    ),
    path("api-keys", server_keys.index, {"page": server_keys.HR}, name="api_keys"),
    path(
        "api-keys/<uuid:key_id>/revoke",
        server_keys.revoke,
        {"page": server_keys.HR},
        name="api_key_revoke",
    ),
    path("agent-keys", server_keys.index, {"page": server_keys.AGENTS}, name="agent_keys"),
    path(
        "agent-keys/<uuid:key_id>/revoke",
        server_keys.revoke,
        {"page": server_keys.AGENTS},
        name="agent_key_revoke",
    ),
    path("projects-tokens", project_tokens.index, name="project_tokens"),
    path(
        "projects-tokens/<uuid:token_id>/revoke", project_tokens.revoke, name="project_token_revoke"
    ),
    path("signin", limit_requests("signin")(pages.sign_in), name="account_login"),
    path("signin/code", limit_requests("second_step")(pages.second_step), name="mfa_authenticate"),
    path("signin/passkey", limit_requests("passkey")(pages.passkey), name="mfa_login_webauthn"),
    path("signin/inactive", account.account_inactive, name="account_inactive"),
    path("signin/confirm", confirm(unkept(account.reauthenticate)), name="account_reauthenticate"),
    path("signin/confirm/code", confirm(unkept(pages.confirm_by_code)), name="mfa_reauthenticate"),
    path(
        "signin/confirm/passkey",
        confirm(unkept(pages.confirm_by_passkey)),
        name="mfa_reauthenticate_webauthn",
    ),
    path("signout", account.logout, name="account_logout"),
    path("members/undo", member_undo.page, name="member_undo"),
    path(SECURITY, own(security_page.index), name="mfa_index"),
    path(f"{SECURITY}/app", own(security_page.add_app), name="mfa_activate_totp"),
    path(f"{SECURITY}/app/remove", own(security_page.remove_app), name="mfa_deactivate_totp"),
    path(f"{SECURITY}/password", own(passwords.change), name="account_change_password"),
    path(f"{SECURITY}/codes", own(security_page.codes), name="mfa_view_recovery_codes"),
    path(f"{SECURITY}/codes/new", own(security_page.new_codes), name="mfa_generate_recovery_codes"),
    path(f"{PASSKEYS}/add", own(security_page.add_passkey), name="mfa_add_webauthn"),
    path(
        f"{PASSKEYS}/<int:pk>/rename", own(security_page.rename_passkey), name="mfa_edit_webauthn"
    ),
    path(
        f"{PASSKEYS}/<int:pk>/remove", own(security_page.remove_passkey), name="mfa_remove_webauthn"
    ),
    # The former address of the requests for approval.
    re_path(
        r"^admin/tools_registry/billingrequest/(?P<rest>.*)$",
        RedirectView.as_view(url="/admin/approvals/approvalrequest/%(rest)s", query_string=True),
    ),
    path("admin", RedirectView.as_view(url="/admin/", query_string=True)),
    path("admin/", admin.site.urls),
    # --- Operators ---
    path("health", health, name="health"),
    path("healthz", health),
    path("readyz", readiness, name="readiness"),
]

handler400 = errors.bad_request
handler403 = errors.permission_denied
handler404 = errors.not_found
handler500 = errors.server_error
