"""Calendars of public holidays: one for each place with holidays of its own."""

from typing import Any

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from foundation import ids
from people import countries
from people.models.columns import Record, key


def new_calendar_id() -> str:
    return ids.reference("cal_")


class HolidayCalendar(Record):
    """The public holidays of a country or region, as an organization has corrected them.

    People have that of their employment, else that of their work place, else the default of the
    organization. `people.calendars` finds it.
    """

    id = key(new_calendar_id)
    name = models.CharField(_("name"), max_length=100)
    country_code = models.CharField(
        _("country"), max_length=2, blank=True, choices=countries.choices
    )
    region = models.CharField(
        _("region"),
        max_length=40,
        blank=True,
        help_text=_("The code of a state or province, such as BE for Berlin."),
    )
    is_default = models.BooleanField(_("default"), default=False, editable=False)

    class Meta:
        verbose_name = _("holiday calendar")
        verbose_name_plural = _("holiday calendars")
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(
                fields=("organization", "name"), name="people_holiday_calendar_name"
            ),
            models.UniqueConstraint(
                fields=("organization",),
                condition=Q(is_default=True),
                name="people_one_default_holiday_calendar",
            ),
        )

    def __str__(self) -> str:
        return self.name


def calendar_column() -> Any:
    """A column for the calendar that something has; a calendar in use cannot be deleted."""
    return models.ForeignKey(
        HolidayCalendar,
        models.RESTRICT,
        verbose_name=_("holiday calendar"),
        related_name="+",
        null=True,
        blank=True,
    )
