"""Writes the reference in docs/sdk-api.md again, after a change of the SDK API."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from ingestion import contract, reference
from ingestion.routes import ROUTES


class Command(BaseCommand):
    help = "Write the reference part of docs/sdk-api.md from the SDK API's contract."

    def handle(self, **_options: Any) -> None:
        page = settings.BASE_DIR / "docs" / "sdk-api.md"
        old = page.read_text(encoding="utf-8")
        page.write_text(reference.replace_section(old, contract.document(ROUTES)), encoding="utf-8")
        self.stdout.write(f"Written: {page.name}")
