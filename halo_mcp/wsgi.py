"""Django behind WSGI: everything but /api/mcp, and /api/mcp too where no ASGI server runs."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "halo_mcp.settings")

import django

django.setup(set_prefix=False)

from halo_mcp.handler import Handler  # noqa: E402  apps first

application = Handler()
