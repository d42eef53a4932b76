"""manage.py seed_demo: fill an organization with demo data."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from customers.demo import progress, seeding
from customers.demo.world import SIZES
from workspace.models import DemoSeed, Organization


class Command(BaseCommand):
    help = (
        "Fill an organization with 18 months of demo data that end now. An interrupted run "
        "continues where it stopped."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--size", choices=tuple(SIZES), default="small", help="default: small")
        parser.add_argument(
            "--organization", help="short name; not needed if there is only one organization"
        )
        parser.add_argument(
            "--reset",
            action="store_true",
            help="delete everything that the organization has recorded first, after a question",
        )
        parser.add_argument("--yes", action="store_true", help="delete without a question")

    def handle(self, *_args: Any, **options: Any) -> None:
        organization = _get_organization(options["organization"])
        if options["reset"]:
            self._reset(organization, is_confirmed=options["yes"])
        seed = _seed(organization, options["size"])
        if seed.finished_at is not None:
            self.stdout.write(
                f"{organization} has the {seed.size} demo data of {seed.as_of:%Y-%m-%d} already. "
                "Use --reset to replace it."
            )
            return
        progress.show(seed)
        self.stdout.write(f"Ready: {_format_counts(organization)}.")

    def _reset(self, organization: Organization, *, is_confirmed: bool) -> None:
        listed = _format_counts(organization)
        if not is_confirmed:
            self.stdout.write(
                f"This deletes everything that {organization} has recorded, demo data or not: "
                f"{listed}."
            )
            if not _confirm_organization(organization.slug):
                raise CommandError("Nothing was deleted.")
        seeding.clear(organization)
        self.stdout.write(f"Deleted: {listed}.")


def _get_organization(slug: str | None) -> Organization:
    organizations = Organization.objects.order_by("slug")
    if slug is None:
        several = list(organizations[:2])
        if len(several) != 1:
            names = ", ".join(organizations.values_list("slug", flat=True)[:20])
            raise CommandError(f"Choose one with --organization: {names or 'there is none yet'}.")
        return several[0]
    found = organizations.filter(slug=slug).first()
    if found is None:
        raise CommandError(f"No organization has the short name {slug!r}.")
    return found


def _seed(organization: Organization, size: str) -> DemoSeed:
    seed = DemoSeed.objects.select_related("organization").filter(pk=organization.pk).first()
    if seed is None:
        try:
            return seeding.plan(organization, size)
        except seeding.HasData as has_data:
            raise CommandError(
                f"{organization} has data already: {_format_counts(organization)}. Demo data is "
                "not mixed with it. Use --reset to delete it first."
            ) from has_data
    if seed.size != size:
        raise CommandError(f"{organization} has {seed.size} demo data. Use --reset to replace it.")
    return seed


def _format_counts(organization: Organization) -> str:
    return ", ".join(f"{many:,} {kind}" for kind, many in seeding.count(organization).items())


def _confirm_organization(slug: str) -> bool:
    try:
        return input(f"Enter {slug} to continue: ").strip() == slug
    except EOFError:
        return False
