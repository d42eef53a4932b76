"""Replaces the toolkit's command, which cannot create a client of this server."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = "Not available: use create_client."

    def run_from_argv(self, argv: list[str]) -> None:
        """Ignore the arguments of the toolkit's command."""
        super().run_from_argv(argv[:2])

    def handle(self, *_args: Any, **_options: Any) -> None:
        raise CommandError(
            "Use create_client: ./run manage create_client --name NAME --redirect-uri URI"
        )
