"""manage.py import_customers: import an organization's customers from a CSV file.

The same as `import_data --kind customers`.
"""

from typing import Any

from django.core.management.base import CommandParser

from customers.management.commands import import_data
from workspace.models import ImportKind


class Command(import_data.Command):
    help = "Add and change an organization's customers from a CSV file, completely or not at all."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("organization", help="short name of the organization")
        import_data.add_file_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        super().handle(*args, **{**options, "kind": ImportKind.CUSTOMERS})
