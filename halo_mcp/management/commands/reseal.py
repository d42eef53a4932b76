"""manage.py reseal: seals all values with the first of HALO_SEALING_KEYS."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from foundation import resealing, sealing_proofs
from foundation.resealing import SealedColumn, Tally
from halo_mcp.sealed_columns import COLUMNS


class Command(BaseCommand):
    help = (
        "Encrypt every stored secret with the first key of HALO_SEALING_KEYS. An hour after it has "
        "succeeded, the other keys can be removed. Safe to stop and to repeat."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--check", action="store_true", help="decrypt every stored secret and change none"
        )
        parser.add_argument(
            "--forget-lost-keys",
            action="store_true",
            help="let the server start without keys that are lost, although what they encrypted "
            "can never be read",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        unreadable = 0
        for column in COLUMNS:
            tally = _check(column) if options["check"] else resealing.renew(column)
            done = f"{tally.renewed} encrypted again, {tally.current} up to date"
            self.stdout.write(
                f"{column.name}: {f'{tally.current} decrypted' if options['check'] else done}"
            )
            for key in tally.unreadable:
                self.stderr.write(f"{column.name}: no configured key decrypts {key}")
            unreadable += len(tally.unreadable)
        if unreadable and options["forget_lost_keys"]:
            sealing_proofs.forget(sealing_proofs.list_lost_keys())
            sealing_proofs.add()
        elif unreadable:
            message = (
                f"Secrets that cannot be decrypted: {unreadable}. Add their key to "
                "HALO_SEALING_KEYS, after the first."
            )
            raise CommandError(message)
        elif not options["check"]:
            sealing_proofs.keep_current()


def _check(column: SealedColumn) -> Tally:
    try:
        return resealing.check(column)
    except DatabaseError as error:
        raise CommandError(
            f"{column.name}: the database has no such column yet. Run ./run manage bootstrap first."
        ) from error
