"""The settings of the gateway, which `settings.py` includes."""

from typing import Any

from halo_mcp import env
from halo_mcp.setting_groups.deployment import LOCAL_HOSTS

# --- Calls to the APIs of projects ---------------------------------------------------------------

# The time of one call, from the name lookup to the last byte.
HALO_GATEWAY_TIMEOUT_SECONDS = env.integer("HALO_GATEWAY_TIMEOUT_SECONDS", 30, least=1, most=300)
# How long a process that is stopped waits for the calls that change something: as long as the
# longest of them may take.
HALO_STOP_SECONDS = env.integer(
    "HALO_STOP_SECONDS", HALO_GATEWAY_TIMEOUT_SECONDS + 5, least=5, most=900
)
# Of one answer as it is read; what is over HALO_MAX_RESULT_BYTES of it is cut at whole items.
HALO_GATEWAY_MAX_RESPONSE_BYTES = env.integer(
    "HALO_GATEWAY_MAX_RESPONSE_BYTES", 10_485_760, least=1024, most=env.MAX_BYTES
)
# The files of one call together, as bytes; base64 takes a third more (HALO_MAX_BODY_BYTES).
HALO_GATEWAY_MAX_UPLOAD_BYTES = env.integer(
    "HALO_GATEWAY_MAX_UPLOAD_BYTES", 786_432, least=1024, most=env.MAX_BYTES
)
HALO_GATEWAY_MAX_DOCUMENT_BYTES = env.integer(
    "HALO_GATEWAY_MAX_DOCUMENT_BYTES", 16_777_216, least=1024, most=env.MAX_BYTES
)
# How many documents of a project are kept, the newest; only the last one is in use.
HALO_GATEWAY_KEPT_DOCUMENTS = env.integer("HALO_GATEWAY_KEPT_DOCUMENTS", 5, least=1, most=1_000)
# Hosts that may be in a private network and without https: host, or host:port. By default the
# computer itself, where the demo API is, if nobody else reaches this server.
HALO_GATEWAY_PRIVATE_HOSTS = env.private_hosts("HALO_GATEWAY_PRIVATE_HOSTS", *LOCAL_HOSTS)
# Calls that an organization without a plan may make in a month; with 0, as many as it wants.
HALO_GATEWAY_MONTHLY_CALLS = env.integer("HALO_GATEWAY_MONTHLY_CALLS", 0, most=1_000_000_000)

# --- WebSockets (tools_registry/endpoint/websocket) ---------------------------------------------

# Of one connection, in each process.
HALO_GATEWAY_SOCKETS_PER_CREDENTIAL = env.integer(
    "HALO_GATEWAY_SOCKETS_PER_CREDENTIAL", 10, least=1, most=1_000
)
# A socket is closed whose client sends no message for so long and waits for no response.
HALO_GATEWAY_SOCKET_IDLE_SECONDS = env.integer(
    "HALO_GATEWAY_SOCKET_IDLE_SECONDS", 3600, least=1, most=604_800
)

# --- Rate limits of the endpoints of projects ----------------------------------------------------

HALO_RATE_GATEWAY_LIST = env.rate("HALO_RATE_GATEWAY_LIST", "60/m")
HALO_RATE_GATEWAY_CALL = env.rate("HALO_RATE_GATEWAY_CALL", "120/m")
HALO_RATE_GATEWAY_OTHER = env.rate("HALO_RATE_GATEWAY_OTHER", "60/m")

# --- Mail to approvers; by default it is printed by the worker -----------------------------------

# As a URL: consolemail://, smtp://host:25 or smtp+tls://user:password@host:587.
_MAIL: dict[str, Any] = env.mail_server("HALO_EMAIL_URL", "consolemail://")
EMAIL_BACKEND = {"django.core.mail.backends.smtp.EmailBackend": "foundation.smtp.EmailBackend"}.get(
    _MAIL["EMAIL_BACKEND"], _MAIL["EMAIL_BACKEND"]
)
EMAIL_HOST, EMAIL_PORT = _MAIL["EMAIL_HOST"] or "localhost", _MAIL["EMAIL_PORT"] or 25
EMAIL_HOST_USER = _MAIL["EMAIL_HOST_USER"] or ""
EMAIL_HOST_PASSWORD = _MAIL["EMAIL_HOST_PASSWORD"] or ""
EMAIL_USE_TLS, EMAIL_USE_SSL = _MAIL.get("EMAIL_USE_TLS", False), _MAIL.get("EMAIL_USE_SSL", False)
# To connect, and for each answer of the mail server.
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.mail_address("HALO_EMAIL_FROM", "halo@localhost")

# Where vulnerabilities of this deployment are reported, for /.well-known/security.txt.
HALO_SECURITY_CONTACT = env.contact("HALO_SECURITY_CONTACT")
# Whom people without an account, a password or an organization ask; shown on pages.
HALO_SUPPORT_CONTACT = env.contact("HALO_SUPPORT_CONTACT")
# The public key by which the MCP Registry verifies the domain of this deployment.
HALO_MCP_REGISTRY_PROOF = env.registry_proof("HALO_MCP_REGISTRY_PROOF")
