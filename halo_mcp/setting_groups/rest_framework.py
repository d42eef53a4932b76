"""How Django REST framework reads and answers requests, which `settings.py` includes."""

from halo_mcp.setting_groups.deployment import HALO_PUBLIC_URL

# Views read keys themselves, since the limits of a request are charged before its key is looked up.
# None reads cookies.
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_PARSER_CLASSES": ["rest.bodies.StrictJson"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "rest.bodies.JsonOnly",
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "UNAUTHENTICATED_USER": None,
}
# The OpenAPI document of the SDK API (docs/sdk-api.md).
SPECTACULAR_SETTINGS = {
    "TITLE": "Halo SDK API",
    "DESCRIPTION": "Customers, companies, tickets, events and transcripts of an organization.",
    "VERSION": "1.0.0",
    "OAS_VERSION": "3.1.0",
    "SERVERS": [{"url": HALO_PUBLIC_URL}],
    "ENFORCE_NON_BLANK_FIELDS": True,
    # No copy of a body for PATCH with all members optional: our bodies say which are.
    "COMPONENT_SPLIT_PATCH": False,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
}
