"""Django behind WSGI: everything but /api/mcp, and /api/mcp too where no ASGI server runs."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "halo_mcp.settings")

application = get_wsgi_application()
