"""The WSGI application: everything except /api/mcp, and /api/mcp too without an ASGI server."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "halo_mcp.settings")

import django

django.setup(set_prefix=False)

from foundation.db import waits  # noqa: E402  apps first
from halo_mcp.server.handler import Handler  # noqa: E402  apps first

waits.begin(waits.web_limits())
application = Handler()
