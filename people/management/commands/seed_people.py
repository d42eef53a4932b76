"""manage.py seed_people: fill an organization with made-up HR records."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from people import seeding
from people.seeding import HasRecords
from workspace.models import Organization


class Command(BaseCommand):
    help = (
        "Fill an organization with 120 made-up people, their employment and two years of time off. "
        "An organization that has HR records already is left as it is."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--organization", help="short name; not needed if there is only one organization"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        organization = _get_organization(options["organization"])
        try:
            count = seeding.seed(organization, timezone.localdate())
        except HasRecords:
            raise CommandError(
                f"{organization} has HR records already. Nothing was stored."
            ) from None
        self.stdout.write(f"Stored {count} people of {organization} and their records.")


def _get_organization(slug: str | None) -> Organization:
    found = Organization.objects.order_by("slug")
    rows = list(found if slug is None else found.filter(slug=slug))
    if len(rows) == 1:
        return rows[0]
    if slug is not None:
        raise CommandError(f"There is no organization with the short name {slug!r}.")
    names = ", ".join(row.slug for row in rows) or "none"
    raise CommandError(f"Name one organization with --organization. There are: {names}.")
