"""Product events, the daily values of key figures, and what has changed since they were written."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from workspace.models.customers import Customer
from workspace.models.people import Organization


class Event(models.Model):
    """Something that a person did in the organization's product. `customers.events` writes it.

    `dedupe_key` is the id that a client gives an event, so that a repeated batch adds nothing;
    unique in the organization where it is not empty. `at` is when it happened by the client's
    clock, bounded by the server's.
    """

    id = models.BigAutoField(primary_key=True)
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="+", db_index=False)
    customer = models.ForeignKey(
        Customer, models.SET_NULL, related_name="+", null=True, blank=True, db_index=False
    )
    session_id = models.CharField(_("session"), max_length=200, blank=True)
    event_type = models.CharField(_("type"), max_length=100)
    element_selector = models.CharField(_("element"), max_length=500, blank=True)
    page_url = models.CharField(_("page"), max_length=2048, blank=True)
    metadata = models.JSONField(_("metadata"), default=dict, blank=True)
    dedupe_key = models.CharField(max_length=100, blank=True, editable=False)
    at = models.DateTimeField(_("at"), default=timezone.now)

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        indexes = [
            # What is included is counted by, without reading the rows.
            models.Index(
                fields=("organization", "-at", "-id"),
                include=("event_type", "customer"),
                name="workspace_event_new",
            ),
            models.Index(
                fields=("organization", "event_type", "-at", "-id"), name="workspace_event_type"
            ),
            models.Index(
                fields=("customer", "-at", "-id"),
                name="workspace_event_customer",
                condition=models.Q(customer__isnull=False),
            ),
            models.Index(
                fields=("organization", "session_id", "-at"),
                name="workspace_event_session",
                condition=~models.Q(session_id=""),
            ),
            # Events of visitors that may become those of a customer.
            models.Index(
                fields=("organization", "session_id", "-at"),
                name="workspace_event_visitor",
                condition=models.Q(customer=None) & ~models.Q(session_id=""),
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=("organization", "dedupe_key"),
                condition=~models.Q(dedupe_key=""),
                name="workspace_one_event",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} {self.page_url}"


class KpiSnapshot(models.Model):
    """The value of a key figure on one day of a time zone, as `customers.kpis` computed it.

    NULL means there was nothing to compute it from, for example no resolved ticket on that day. A
    snapshot of another zone than the organization's is not used, nor is one without `taken_at`, as
    earlier versions wrote them. `taken_at` is before the first row was read.
    """

    organization = models.ForeignKey(Organization, models.CASCADE, related_name="+", db_index=False)
    day = models.DateField(_("day"))
    metric = models.CharField(_("metric"), max_length=40)
    value = models.FloatField(_("value"), null=True)
    time_zone = models.CharField(_("time zone"), max_length=64, default="", db_default="")
    taken_at = models.DateTimeField(_("taken"), null=True)

    class Meta:
        verbose_name = _("key figure")
        verbose_name_plural = _("key figures")
        constraints = [
            models.UniqueConstraint(
                fields=("organization", "metric", "day"), name="workspace_one_kpi"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.metric} {self.day}"


class KpiChange(models.Model):
    """An hour of which rows that figures count were added, changed or deleted later.

    Triggers of the database write it, for rows older than `CHANGES_NOTED_AFTER`, in the transaction
    of the change: every write is noted, also one that names no model. Until `customers.kpis` has
    written the snapshots of that time again, it counts the rows.
    """

    id = models.BigAutoField(primary_key=True)
    # The rows of an organization that is deleted are noted too, after it.
    organization = models.ForeignKey(
        Organization, models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    kind = models.CharField(max_length=20)
    hour = models.DateTimeField()

    class Meta:
        verbose_name = _("change of past days")
        verbose_name_plural = _("changes of past days")
        indexes = [
            models.Index(fields=("organization", "kind", "hour"), name="workspace_kpi_change"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.hour}"
