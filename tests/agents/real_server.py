"""What a real server needs before agents can be used: the documentation, and a key."""

# Prints the key as JSON.
PREPARE = """
import json, secrets
from documentation import index
from django.conf import settings
from oauth import server_keys
from oauth.models import KeyKind
from workspace import organizations
from workspace.models import User
index.refresh(settings.HALO_DOCS_SOURCE)
owner = User.objects.create_user(f"agents-{secrets.token_hex(4)}@example.com")
office = organizations.create("Agents", owner=owner)
row = server_keys.build_row(office, "App", ["docs:read"], 1, KeyKind.AGENTS)
print(json.dumps(server_keys.issue(row, user=None, address="").secret))
"""
