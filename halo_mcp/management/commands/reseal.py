"""manage.py reseal: seals all values with the first of HALO_SEALING_KEYS."""

from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from agents import language_models, sessions
from console.account import second_factors
from foundation import resealing
from foundation.resealing import Column
from gateway import credentials as upstream
from tools_registry.vendors import credentials
from workspace import organizations

COLUMNS: Final[tuple[Column, ...]] = (
    organizations.SEALED,
    second_factors.SEALED,
    credentials.SEALED,
    upstream.SEALED,
    language_models.SEALED,
    sessions.SEALED,
)


class Command(BaseCommand):
    help = (
        "Encrypt every stored secret with the first key of HALO_SEALING_KEYS. An hour after it has "
        "succeeded, the other keys can be removed. Safe to stop and to repeat."
    )

    def handle(self, *_args: Any, **_options: Any) -> None:
        unreadable = 0
        for column in COLUMNS:
            tally = resealing.renew(column)
            self.stdout.write(
                f"{column.name}: {tally.renewed} encrypted again, {tally.current} up to date"
            )
            for key in tally.unreadable:
                self.stderr.write(f"{column.name}: no configured key decrypts {key}")
            unreadable += len(tally.unreadable)
        if unreadable:
            message = (
                f"Secrets that cannot be decrypted: {unreadable}. Add their key to "
                "HALO_SEALING_KEYS, after the first."
            )
            raise CommandError(message)
