"""What kind of server this is and where it is reached, which `settings.py` includes."""

from urllib.parse import urlsplit

from halo_mcp import env

HALO_ENV = env.choice("HALO_ENV", "", ("", "development", "production"))
HALO_PRODUCTION = HALO_ENV == "production"
HOST = env.text("HOST", "127.0.0.1")
PORT = env.integer("PORT", 8000, least=1, most=65_535)
# The one address in tokens, metadata and links (RFC 8414 issuer, RFC 9728 resource).
HALO_PUBLIC_URL = env.origin("HALO_PUBLIC_URL", f"http://{env.bracket_host(HOST)}:{PORT}")
LOOPBACK_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
# With brackets, as in the Host header.
PUBLIC_HOST = env.bracket_host(str(urlsplit(HALO_PUBLIC_URL).hostname))
IS_LOOPBACK = env.is_loopback(PUBLIC_HOST)
# What organizations may call on this computer: nothing if others than its owner reach this server.
LOCAL_HOSTS = LOOPBACK_HOSTS if IS_LOOPBACK and not HALO_PRODUCTION else []
