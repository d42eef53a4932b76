"""Which requests have to be counted again, why, and which lengths have changed by it."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from foundation import ids
from people.models.columns import Record, key
from people.models.people import Person
from people.models.reference import ReferenceItem
from people.models.time_off import TimeOff, TimeOffCategory, days


def new_recount_id() -> str:
    return ids.reference("rct_")


def new_length_change_id() -> str:
    return ids.reference("lch_")


class Recount(Record):
    """Requests are counted again, by the worker: those that meet all of the conditions.

    `people.recounting` writes it. `last_person` is the person up to whom it is done.
    """

    id = key(new_recount_id)
    reason = models.CharField(_("reason"), max_length=500)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, verbose_name=_("by"), related_name="+", null=True
    )
    first_day = models.DateField(null=True)
    last_day = models.DateField(null=True)
    person = models.ForeignKey(Person, models.CASCADE, related_name="+", null=True)
    work_place = models.ForeignKey(ReferenceItem, models.CASCADE, related_name="+", null=True)
    category = models.ForeignKey(TimeOffCategory, models.CASCADE, related_name="+", null=True)
    last_person = models.CharField(max_length=60, blank=True, default="")
    finished_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("recount of requests")
        verbose_name_plural = _("recounts of requests")
        ordering = ("created_at", "id")
        indexes = (
            models.Index(
                fields=("created_at",), condition=Q(finished_at=None), name="people_recount_waiting"
            ),
        )

    def __str__(self) -> str:
        return self.reason


class LengthChange(Record):
    """A request that has another length since it was counted again."""

    id = key(new_length_change_id)
    recount = models.ForeignKey(Recount, models.CASCADE, related_name="changes")
    time_off = models.ForeignKey(
        TimeOff, models.CASCADE, verbose_name=_("request"), related_name="length_changes"
    )
    days_before = days(_("days before"))
    days_after = days(_("days after"))

    class Meta:
        verbose_name = _("changed length")
        verbose_name_plural = _("changed lengths")
        ordering = ("-created_at", "id")
        indexes = (
            models.Index(
                fields=("organization", "-created_at", "id"), name="people_length_change_newest"
            ),
        )

    def __str__(self) -> str:
        return f"{self.time_off}: {self.days_before} - {self.days_after}"
