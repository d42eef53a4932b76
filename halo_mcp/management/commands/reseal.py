"""manage.py reseal: seal everything under the first of HALO_SEALING_KEYS, so that others can go."""

from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from console import second_factors
from foundation import resealing
from foundation.resealing import Column
from tools_registry.vendors import credentials
from workspace import organizations

COLUMNS: Final[tuple[Column, ...]] = (
    organizations.SEALED,
    second_factors.SEALED,
    credentials.SEALED,
)


class Command(BaseCommand):
    help = (
        "Seal every kept secret anew under the first of HALO_SEALING_KEYS. Once it has succeeded, "
        "and an hour has passed, the other keys can be removed. Safe to stop and to run again."
    )

    def handle(self, *_args: Any, **_options: Any) -> None:
        unreadable = 0
        for column in COLUMNS:
            tally = resealing.renew(column)
            self.stdout.write(
                f"{column.name}: {tally.renewed} sealed anew, {tally.current} already were"
            )
            for key in tally.unreadable:
                self.stderr.write(f"{column.name}: no configured key opens {key}")
            unreadable += len(tally.unreadable)
        if unreadable:
            message = (
                f"{unreadable} cannot be opened. Put the key that sealed them behind the first."
            )
            raise CommandError(message)
