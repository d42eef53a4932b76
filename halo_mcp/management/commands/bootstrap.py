"""manage.py bootstrap: prepares the database as `up` does, for deployments that serve otherwise."""

from typing import Any

from django.core.management.base import BaseCommand

from foundation.version import PRODUCT
from halo_mcp.bootstrap import bootstrap


class Command(BaseCommand):
    help = (
        "Apply migrations and index the documentation. In development, also create a demo "
        "organization in an empty database."
    )

    def handle(self, *_args: Any, **_options: Any) -> None:
        admin = bootstrap()
        self.stdout.write(f"{PRODUCT} is ready.")
        if admin is not None:
            password = admin.password or "the value of HALO_ADMIN_PASSWORD"
            self.stdout.write(f"Email: {admin.email}\nPassword: {password}")
        if admin is not None and admin.password:
            self.stdout.write("Copy the password now. It is not shown again.")
