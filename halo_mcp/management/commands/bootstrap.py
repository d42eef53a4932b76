"""manage.py bootstrap: what `up` does before it serves, for deployments that start otherwise."""

from typing import Any

from django.core.management.base import BaseCommand

from halo_mcp.bootstrap import bootstrap


class Command(BaseCommand):
    help = "Apply migrations and index the documentation; in development, found the demo."

    def handle(self, *_args: Any, **_options: Any) -> None:
        admin = bootstrap()
        self.stdout.write("Ready.")
        if admin is not None and admin.password:
            self.stdout.write(f"Sign in as {admin.email} with {admin.password} (shown this once).")
