"""manage.py customer: erase or export one customer of an organization."""

import getpass
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.serializers.json import DjangoJSONEncoder

from customers.privacy import erasure, export, subject, suppression
from customers.privacy.erasure import PrivacyActor
from customers.privacy.ports import TryLater
from customers.privacy.subject import AmbiguousCustomer, UnknownCustomer
from workspace.models import Customer, Erasure, Organization


class Command(BaseCommand):
    help = (
        "Erase or export one customer. An interrupted erasure is finished by running it again; "
        "an export is printed as JSON."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        erase = verbs.add_parser("erase", help="erase the customer for good")
        erase.add_argument("--yes", action="store_true", help="erase without a question")
        export_verb = verbs.add_parser("export", help="print what is stored about the customer")
        refused = verbs.add_parser("refused", help="print what is kept of erased people: hashes")
        for verb in (erase, export_verb, refused):
            verb.add_argument("--organization", required=True, help="short name")
        for verb in (erase, export_verb):
            verb.add_argument("customer", help="id, external id or email address")
        refused.add_argument("customer", nargs="?", help="external id or email address")

    def handle(self, *_args: Any, **options: Any) -> None:
        organization = _get_organization(options["organization"])
        if options["verb"] == "export":
            customer = _find_customer(organization, options["customer"])
            for part in export.document(customer, _actor()):
                self.stdout.write(part, ending="")
            return
        if options["verb"] == "refused":
            named = [options["customer"]] if options["customer"] else []
            names = suppression.make_names(named, named)
            for row in suppression.export_rows(organization.pk, names):
                self.stdout.write(json.dumps(row, cls=DjangoJSONEncoder))
            return
        begun = subject.find_erasure(organization.pk, options["customer"])
        if begun is not None and begun.finished_at is not None:
            self.stdout.write(f"{begun.customer_id} was erased on {begun.finished_at:%Y-%m-%d}.")
            return
        if begun is None:
            customer = _find_customer(organization, options["customer"])
            begun = self._begin_erasure(organization, customer, is_confirmed=options["yes"])
        self._finish(begun)

    def _begin_erasure(
        self, organization: Organization, customer: Customer, *, is_confirmed: bool
    ) -> Erasure:
        if not is_confirmed:
            self._show(customer)
            if not _confirm_erasure(customer.pk):
                raise CommandError("Nothing was erased.")
        try:
            return erasure.begin(organization.pk, customer.pk, _actor())
        except UnknownCustomer as unknown:
            raise CommandError(str(unknown)) from unknown

    def _show(self, customer: Customer) -> None:
        whom = subject.from_customer(customer)
        self.stdout.write(f"This erases {customer} ({customer.pk}) for good:")
        for name, many in erasure.preview(whom).items():
            self.stdout.write(f"  {name}: {many:,}")
        for name, many in erasure.preview_left(whom).items():
            self.stdout.write(f"  {name}: {many:,} that name the customer, left as they are")
        for name, many in erasure.preview_not_found(whom).items():
            self.stdout.write(
                f"  {name}: {many:,} with the full name or external id, not looked for"
            )

    def _finish(self, begun: Erasure) -> None:
        try:
            done = erasure.finish(begun.pk)
        except TryLater as later:
            raise CommandError(f"{begun.customer_id} is hidden, but not erased. {later}") from later
        self.stdout.write(f"Erased {done.customer_id}. {erasure.summary(done)}.")


def _get_organization(slug: str) -> Organization:
    organization = Organization.objects.filter(slug=slug).first()
    if organization is None:
        raise CommandError(f"No organization has the short name {slug!r}.")
    return organization


def _find_customer(organization: Organization, named: str) -> Customer:
    try:
        return subject.find(organization.pk, named)
    except (UnknownCustomer, AmbiguousCustomer) as problem:
        raise CommandError(str(problem)) from problem


def _actor() -> PrivacyActor:
    try:
        account = getpass.getuser()
    except (KeyError, OSError):
        account = "unknown"
    return PrivacyActor(f"manage.py customer, account {account}")


def _confirm_erasure(customer_id: str) -> bool:
    try:
        return input(f"Enter {customer_id} to continue: ").strip() == customer_id
    except EOFError:
        return False
