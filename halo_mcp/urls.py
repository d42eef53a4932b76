"""Every public path on one page.

The server answers /api/mcp ahead of Django (`halo_mcp/asgi.py`); the view below is the same
endpoint for servers that speak only WSGI.
"""

from allauth.account import views as account
from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import path, re_path

from console import connections, errors, passwords, security_page, views
from console import sign_in_pages as pages
from halo_mcp.health import health
from oauth import authorize, consent, metadata, registration, token_endpoint
from oauth.page_limits import limited
from tools_registry.views import mcp

WELL_KNOWN = ".well-known"
SECURITY = "account/security"
PASSKEYS = f"{SECURITY}/passkeys"

# The admin's own sign-in and change of password would bypass the limits on guessing passwords.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
admin.site.password_change = passwords.change_own  # type: ignore[assignment, method-assign]  # Django has no other place for it

confirm, own = limited("confirm"), limited("security")
unkept = security_page.for_its_person

urlpatterns = [
    # --- MCP clients ---
    path("api/mcp", mcp, name="mcp"),
    path("api/mcp/oauth/register", registration.register, name="oauth_register"),
    path("api/mcp/oauth/authorize", authorize.authorize, name="oauth_authorize"),
    path("api/mcp/oauth/consent", consent.consent, name="oauth_consent"),
    path("api/mcp/oauth/token", token_endpoint.token, name="oauth_token"),
    path("api/mcp/oauth/revoke", token_endpoint.revoke, name="oauth_revoke"),
    path(f"{WELL_KNOWN}/oauth-authorization-server", metadata.authorization_server),
    path(f"{WELL_KNOWN}/oauth-authorization-server/api/mcp", metadata.authorization_server),
    path(f"{WELL_KNOWN}/oauth-protected-resource", metadata.protected_resource),
    path(f"{WELL_KNOWN}/oauth-protected-resource/api/mcp", metadata.protected_resource),
    path(f"api/mcp/{WELL_KNOWN}/oauth-protected-resource", metadata.protected_resource),
    re_path(rf"^{WELL_KNOWN}/(.*)$", metadata.not_found),
    # --- People ---
    path("", views.home, name="home"),
    path("docs/", views.documentation_index, name="documentation_index"),
    path("docs/<slug:slug>", views.documentation, name="documentation"),
    path("connections", connections.index, name="connections"),
    path("connections/revoke", connections.revoke_all, name="connections_revoke"),
    path("connections/<uuid:connection_id>", connections.connection, name="connection"),
    path(
        "connections/<uuid:connection_id>/ask-again",
        connections.ask_again,
        name="connection_ask_again",
    ),
    path("connections/<uuid:connection_id>/revoke", connections.revoke, name="connection_revoke"),
    path("signin", limited("signin")(pages.sign_in), name="account_login"),
    path("signin/code", limited("second_step")(pages.second_step), name="mfa_authenticate"),
    path("signin/passkey", limited("passkey")(pages.passkey), name="mfa_login_webauthn"),
    path("signin/inactive", account.account_inactive, name="account_inactive"),
    path("signin/confirm", confirm(unkept(account.reauthenticate)), name="account_reauthenticate"),
    path("signin/confirm/code", confirm(unkept(pages.confirm_by_code)), name="mfa_reauthenticate"),
    path(
        "signin/confirm/passkey",
        confirm(unkept(pages.confirm_by_passkey)),
        name="mfa_reauthenticate_webauthn",
    ),
    path("signout", account.logout, name="account_logout"),
    path(SECURITY, own(security_page.index), name="mfa_index"),
    path(f"{SECURITY}/app", own(security_page.add_app), name="mfa_activate_totp"),
    path(f"{SECURITY}/app/remove", own(security_page.remove_app), name="mfa_deactivate_totp"),
    path(f"{SECURITY}/codes", own(security_page.codes), name="mfa_view_recovery_codes"),
    path(f"{SECURITY}/codes/new", own(security_page.new_codes), name="mfa_generate_recovery_codes"),
    path(f"{PASSKEYS}/add", own(security_page.add_passkey), name="mfa_add_webauthn"),
    path(
        f"{PASSKEYS}/<int:pk>/rename", own(security_page.rename_passkey), name="mfa_edit_webauthn"
    ),
    path(
        f"{PASSKEYS}/<int:pk>/remove", own(security_page.remove_passkey), name="mfa_remove_webauthn"
    ),
    path("admin/", admin.site.urls),
    # --- Operators ---
    path("health", health, name="health"),
]

handler400 = errors.bad_request
handler403 = errors.forbidden
handler404 = errors.not_found
handler500 = errors.server_error
