"""An organization whose private texts are a word that no answer may have."""

import pytest
from django.utils import timezone

from people import seeding
from people.models import Document, PersonProfile, TimeOff, TimeOffCategory
from tests.people.api.program import Program
from workspace.models import Organization

CANARY = "kanarienvogel"
# What the HR records hold of people that no AI client is answered.
PRIVATE = (
    *("middle_names", "personal_email", "personal_phone_number", "work_phone_number"),
    *("address_line_1", "address_line_2", "address_line_3", "city", "region_state"),
    *("postal_code", "bank_account", "tax_id", "notes"),
)


@pytest.fixture
def secretive(db: None) -> Program:  # noqa: ARG001  opens the database
    """An organization with made-up records, in which every private text is a canary."""
    organization = Organization.objects.create(name="Seeded", slug="seeded", widget_key="seeded")
    seeding.seed(organization, timezone.localdate())
    PersonProfile.objects.update(**dict.fromkeys(PRIVATE, CANARY))
    Document.objects.update(name=f"{CANARY}.pdf", url=f"https://{CANARY}.example/")
    TimeOff.objects.update(note=CANARY, response_note=CANARY)
    for number, row in enumerate(TimeOffCategory.objects.all()):
        TimeOffCategory.objects.filter(pk=row.pk).update(
            name=f"{CANARY}{number}", is_named_to_ai=False
        )
    return Program(organization)
