"""What a real server needs before agents can be used: the documentation, and a key."""

# Prints the key as JSON.
PREPARE = """
import json
from documentation import index
from django.conf import settings
from oauth import server_keys
from oauth.models import KeyKind
from workspace import organizations
from workspace.models import User
index.refresh(settings.HALO_DOCS_SOURCE)
office = organizations.found("Agents", owner=User.objects.create_user("agents@example.com"))
row = server_keys.unsaved(office, "App", ["docs:read"], 1, KeyKind.AGENTS)
print(json.dumps(server_keys.issue(row, user=None, address="").secret))
"""
