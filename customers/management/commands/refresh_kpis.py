"""manage.py refresh_kpis: writes the daily snapshots of key figures for days in the past."""

from argparse import ArgumentTypeError
from datetime import date
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from customers.kpis import days, snapshots
from foundation.calendar_days import missing_day_message
from workspace.models import Organization


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        message = missing_day_message(text) or f"{text!r} is not a day, such as 2026-01-31."
        raise ArgumentTypeError(message) from None


class Command(BaseCommand):
    help = (
        "Compute the key figures of days in the past, and store them. The worker stores those of "
        "days since it runs: this is for the days before, as after an import of older rows."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "organization", nargs="?", default="", help="short name; all organizations without it"
        )
        parser.add_argument(
            "--from",
            dest="first",
            type=_day,
            help="first day, such as 2026-01-31; 18 months ago without it",
        )
        parser.add_argument("--to", dest="last", type=_day, help="last day; today without it")

    def handle(self, *_args: Any, **options: Any) -> None:
        for organization in _list_organizations(options["organization"]):
            today = days.today(days.zone(organization))
            first = options["first"] or today - snapshots.HISTORY
            last = options["last"] or today
            if last < first:
                raise CommandError("--to is before --from.")
            written = snapshots.refresh(organization, first, last)
            self.stdout.write(f"{organization.slug}: {written} values written.")


def _list_organizations(slug: str) -> list[Organization]:
    if not slug:
        return list(Organization.objects.order_by("slug"))
    organization = Organization.objects.filter(slug=slug).first()
    if organization is None:
        raise CommandError(f"No organization has the short name {slug!r}.")
    return [organization]
