"""The sandbox of an organization: made-up HR records that test keys read and change."""

from uuid import UUID

from django.db import transaction
from django.utils import timezone

from foundation import ids
from people import seeding
from workspace.models import Organization


def get_or_create(organization_id: UUID) -> UUID:
    """Returns the id of an organization's sandbox, which is filled when it is first asked for."""
    rows = Organization.with_sandboxes.filter(sandbox_of=organization_id).values_list("pk")
    found = rows.first()
    return found[0] if found else _create_sandbox(organization_id)


@transaction.atomic
def _create_sandbox(organization_id: UUID) -> UUID:
    # Locked: two requests at once make one sandbox.
    parent = Organization.objects.select_for_update().get(pk=organization_id)
    found = Organization.with_sandboxes.filter(sandbox_of=parent).first()
    if found is not None:
        return found.pk
    sandbox = Organization.with_sandboxes.create(
        name=f"{parent.name[:120]} (sandbox)",
        slug=f"sandbox-{parent.pk.hex}",
        widget_key=ids.opaque("sandbox_"),
        time_zone=parent.time_zone,
        currency=parent.currency,
        sandbox_of=parent,
    )
    seeding.seed(sandbox, timezone.localdate())
    return sandbox.pk
