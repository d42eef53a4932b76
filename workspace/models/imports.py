"""Files of customers, companies and tickets that are checked, confirmed and then imported."""

from typing import Final

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from foundation import ids
from workspace.models.people import Organization

# What a process of the version before leaves to the database.
NOTHING: Final = models.Value({}, models.JSONField())


def new_import_id() -> str:
    return ids.reference("imp_")


class ImportKind(models.TextChoices):
    CUSTOMERS = "customers", _("Customers")
    COMPANIES = "companies", _("Companies")
    TICKETS = "tickets", _("Tickets")


class ImportStatus(models.TextChoices):
    UPLOADED = "uploaded", _("Waiting to be checked")
    CHECKING = "checking", _("Being checked")
    UNCLEAR = "unclear", _("Needs your choices")
    READY = "ready", _("Ready to import")
    REFUSED = "refused", _("Refused")
    CONFIRMED = "confirmed", _("Waiting to be imported")
    IMPORTING = "importing", _("Being imported")
    DONE = "done", _("Imported")
    FAILED = "failed", _("Failed")
    EXPIRED = "expired", _("Expired")


class DataImport(models.Model):
    """A file, what the check of it found, and what became of it. `customers.imports` writes it.

    `content` and `preview` are emptied when the import ends, or with the time to confirm it.
    `choices` is what was chosen about the file (`customers/imports/choices.py`), and
    `refused_rows` those rows as a CSV file; `skips_refused` imports the others. `problems` holds
    the first refused cells as `[line, column, reason]`; `problem_count` counts all of them.
    `attempts` counts the workers that began with the check, then those that began with the import.
    """

    id = models.CharField(
        _("import id"), primary_key=True, max_length=64, default=new_import_id, editable=False
    )
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="imports")
    kind = models.CharField(_("what it contains"), max_length=10, choices=ImportKind.choices)
    file_name = models.CharField(_("file"), max_length=255, blank=True)
    content = models.BinaryField(null=True, editable=False)
    status = models.CharField(
        _("status"),
        max_length=10,
        choices=ImportStatus.choices,
        default=ImportStatus.UPLOADED,
        editable=False,
    )
    attempts = models.PositiveSmallIntegerField(default=0, editable=False)
    # Of the worker that works on it now, and until when (`workspace/document_claims.py`).
    claim = models.UUIDField(null=True, editable=False)
    leased_until = models.DateTimeField(null=True, editable=False)
    rows = models.PositiveIntegerField(_("rows"), default=0, editable=False)
    done = models.PositiveIntegerField(_("rows done"), default=0, editable=False)
    added = models.PositiveIntegerField(_("new"), default=0, editable=False)
    changed = models.PositiveIntegerField(_("changed"), default=0, editable=False)
    unchanged = models.PositiveIntegerField(_("unchanged"), default=0, editable=False)
    refused = models.PositiveIntegerField(_("refused"), default=0, editable=False)
    problem_count = models.PositiveIntegerField(default=0, editable=False)
    problems = models.JSONField(default=list, blank=True, editable=False)
    preview = models.JSONField(default=dict, blank=True, editable=False)
    choices = models.JSONField(default=dict, db_default=NOTHING, blank=True, editable=False)
    skips_refused = models.BooleanField(default=False, db_default=False, editable=False)
    refused_rows = models.BinaryField(null=True, editable=False)
    uploaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, related_name="+", null=True, editable=False
    )
    confirmed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, related_name="+", null=True, editable=False
    )
    created_at = models.DateTimeField(_("uploaded"), default=timezone.now, editable=False)
    updated_at = models.DateTimeField(_("changed at"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("import")
        verbose_name_plural = _("imports")
        indexes = [
            models.Index(fields=("organization", "-created_at", "id"), name="workspace_import_new"),
            models.Index(fields=("status", "updated_at"), name="workspace_import_status"),
        ]

    def __str__(self) -> str:
        return self.file_name or self.id


class ImportMapping(models.Model):
    """The columns that the headers of an organization's last imports were read as.

    `columns` has them by the header in the form of `customers.imports.mapping.header_key`.
    """

    organization = models.ForeignKey(Organization, models.CASCADE, related_name="+")
    kind = models.CharField(max_length=10, choices=ImportKind.choices)
    columns = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=("organization", "kind"), name="workspace_import_mapping_kind"
            )
        ]

    def __str__(self) -> str:
        return f"{self.organization_id} {self.kind}"
