"""What records refer to by a label: work places, types of work, statuses, working patterns."""

from typing import TYPE_CHECKING, Final

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from foundation import ids
from people.models.calendars import calendar_column
from people.models.columns import Record, key
from workspace.models.people import validate_time_zone

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

MINUTES_PER_DAY: Final = 24 * 60
WEEKDAYS: Final = (
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
)


class ReferenceKind(models.TextChoices):
    """The value is also the prefix of the ids."""

    WORK_PLACE = "wp", _("Work place")
    WORK_TYPE = "wt", _("Work type")
    PROFILE_STATUS = "sts", _("Profile status")
    DOCUMENT_TYPE = "dty", _("Document type")


def new_reference_id() -> str:
    return ids.reference("ref_")


class ReferenceItem(Record):
    """One entry of a list that an organization keeps, such as a work place."""

    id = key(new_reference_id)
    kind = models.CharField(_("kind"), max_length=10, choices=ReferenceKind.choices)
    label = models.CharField(_("label"), max_length=100)
    time_zone = models.CharField(
        _("time zone"),
        max_length=64,
        blank=True,
        default="",
        db_default="",
        validators=[validate_time_zone],
        help_text=_("Of a work place. Empty: that of the organization."),
    )
    holiday_calendar = calendar_column()
    position = models.PositiveSmallIntegerField(_("position"), default=0)
    is_active = models.BooleanField(_("active"), default=True)

    class Meta:
        verbose_name = _("reference entry")
        verbose_name_plural = _("reference data")
        ordering = ("kind", "position", "label")
        constraints = (
            models.UniqueConstraint(
                fields=("organization", "kind", "label"), name="people_reference_label"
            ),
        )

    def __str__(self) -> str:
        return self.label

    def clean(self) -> None:
        if self.time_zone and self.kind != ReferenceKind.WORK_PLACE:
            raise ValidationError({"time_zone": _("Only a work place has a time zone.")})
        if self.holiday_calendar_id and self.kind != ReferenceKind.WORK_PLACE:
            message = _("Only a work place has a holiday calendar.")
            raise ValidationError({"holiday_calendar": message})


def new_working_pattern_id() -> str:
    return ids.reference("working_pattern_")


def _minutes(label: "StrOrPromise", default: int) -> "models.PositiveSmallIntegerField[int, int]":
    return models.PositiveSmallIntegerField(
        label, default=default, validators=[MaxValueValidator(MINUTES_PER_DAY)]
    )


class WorkingPattern(Record):
    """How many minutes are worked on each day of a week; a day without minutes is free."""

    id = key(new_working_pattern_id)
    label = models.CharField(_("label"), max_length=100)
    monday = _minutes(_("Monday, minutes"), 480)
    tuesday = _minutes(_("Tuesday, minutes"), 480)
    wednesday = _minutes(_("Wednesday, minutes"), 480)
    thursday = _minutes(_("Thursday, minutes"), 480)
    friday = _minutes(_("Friday, minutes"), 480)
    saturday = _minutes(_("Saturday, minutes"), 0)
    sunday = _minutes(_("Sunday, minutes"), 0)

    class Meta:
        verbose_name = _("working pattern")
        verbose_name_plural = _("working patterns")
        ordering = ("label",)
        constraints = (
            models.UniqueConstraint(
                fields=("organization", "label"), name="people_working_pattern_label"
            ),
        )

    def __str__(self) -> str:
        return self.label

    def clean(self) -> None:
        if not any(self.minutes):
            raise ValidationError(_("Enter minutes for at least one day."))

    @property
    def minutes(self) -> tuple[int, ...]:
        """The minutes from Monday to Sunday."""
        return tuple(getattr(self, day) for day in WEEKDAYS)

    @property
    def weekly_minutes(self) -> int:
        return sum(self.minutes)
