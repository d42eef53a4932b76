"""Settings of django-oauth-toolkit, whose models `oauth` replaces."""

OAUTH2_PROVIDER_APPLICATION_MODEL = "oauth.Client"
OAUTH2_PROVIDER_GRANT_MODEL = "oauth.Grant"
OAUTH2_PROVIDER_ACCESS_TOKEN_MODEL = "oauth.AccessToken"  # noqa: S105  a model's name
OAUTH2_PROVIDER_REFRESH_TOKEN_MODEL = "oauth.RefreshToken"  # noqa: S105  a model's name
OAUTH2_PROVIDER_ID_TOKEN_MODEL = "oauth.IDToken"  # noqa: S105  a model's name
# One migration instead of the toolkit's 22, which would all run when there are many models.
MIGRATION_MODULES = {"oauth2_provider": "oauth.migrations.toolkit"}
# None of the toolkit's endpoints is mounted. Its settings are strict all the same, in case a URL is
# added later.
OAUTH2_PROVIDER = {
    "PKCE_REQUIRED": True,
    "COMPLIANT_BCP_RFC9700_IMPLICIT_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PASSWORD_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PKCE_METHOD": True,
    "COMPLIANT_BCP_RFC9700_ACCESS_TOKEN_TRANSPORT": True,
    "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
    "COMPLIANT_BCP_RFC9700_TOKEN_STORAGE": True,
    "COMPLIANT_BCP_RFC9700_REFRESH_TOKEN": True,
    "COMPLIANT_BCP_RFC9700_REDIRECT_URI_SCHEME": True,
    "REFRESH_TOKEN_REUSE_PROTECTION": True,
    "ALLOWED_REDIRECT_URI_SCHEMES": ["https"],
    "APPLICATION_ADMIN_CLASS": "oauth.admin.ClientAdmin",
    "ACCESS_TOKEN_ADMIN_CLASS": "oauth.admin.AccessTokenAdmin",
    "REFRESH_TOKEN_ADMIN_CLASS": "oauth.admin.RefreshTokenAdmin",
    "GRANT_ADMIN_CLASS": "oauth.admin.GrantAdmin",
    "ID_TOKEN_ADMIN_CLASS": "oauth.admin.HiddenAdmin",
}
