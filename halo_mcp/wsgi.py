"""The WSGI application: everything except /api/mcp, and /api/mcp too without an ASGI server."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "halo_mcp.settings")

import django

django.setup(set_prefix=False)

from halo_mcp.server.handler import Handler  # noqa: E402  apps first

application = Handler()
