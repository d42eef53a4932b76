"""Time off: its categories, the requests, and the ledger from which balances are calculated."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from foundation import ids
from people import countries
from people.models.calendars import HolidayCalendar
from people.models.columns import Record, key
from people.models.people import Person
from workspace.models import Organization

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# The last day of each month that every year has: a leave year can begin on it.
DAYS_OF_MONTHS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
# What AI clients are answered in place of the name of a category.
UNNAMED: Final = "Absence"


def days(label: "StrOrPromise", **more: Any) -> "models.DecimalField[Decimal, Decimal]":
    """A column for days, half days included."""
    return models.DecimalField(label, max_digits=6, decimal_places=1, **more)


def check_day_of_year(month: int | None, day: int | None, name: str) -> None:
    """Raises ValidationError, for the field `name`, if not every year has the day of the month."""
    last = dict(enumerate(DAYS_OF_MONTHS, 1)).get(month or 0, 0)
    if last and day and day > last:
        raise ValidationError({name: _("The month does not have this day every year.")})


class CarriedDaysEnd(models.Model):
    """Until when carried days are taken, in each leave year; empty for the whole year."""

    carried_until_month = models.PositiveSmallIntegerField(
        _("carried days are taken until: month"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(12)],
        help_text=_("What is not taken until this day of the leave year expires."),
    )
    carried_until_day = models.PositiveSmallIntegerField(
        _("carried days are taken until: day"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(31)],
    )

    class Meta:
        abstract = True

    def clean(self) -> None:
        super().clean()
        if (self.carried_until_month is None) != (self.carried_until_day is None):
            raise ValidationError({"carried_until_day": _("Enter both the month and the day.")})
        check_day_of_year(self.carried_until_month, self.carried_until_day, "carried_until_day")


def new_category_id() -> str:
    return ids.reference("toc_")


class HolidayTreatment(models.TextChoices):
    """Whether a public holiday within an absence is taken from the balance."""

    EXCLUDE = "exclude", _("Not counted")
    INCLUDE = "include", _("Counted as a working day")


class CategoryKind(models.TextChoices):
    """What a category is, apart from its name."""

    ALLOWANCE = "allowance", _("Taken from an allowance")
    SICKNESS = "sickness", _("Sickness")
    OTHER = "other", _("Taken from no allowance")


class TimeOffCategory(CarriedDaysEnd, Record):
    """A kind of absence. Its name may say something about a person's health.

    `carried_from` is the first day onto which days are carried; None: nothing is known before the
    records of people.
    """

    id = key(new_category_id)
    name = models.CharField(_("name"), max_length=64)
    allowance_days = days(
        _("days a year"), default=Decimal(0), validators=[MinValueValidator(Decimal(0))]
    )
    consumes_balance = models.BooleanField(_("taken from an allowance"), default=False)
    carry_over_days = days(
        _("days carried over at most"),
        default=Decimal(0),
        validators=[MinValueValidator(Decimal(0))],
    )
    carries_debt = models.BooleanField(
        _("carries over what was taken too much"),
        default=True,
        db_default=True,
        help_text=_(
            "What is below zero at the end of a leave year is subtracted from the next one."
        ),
    )
    carried_from = models.DateField(null=True, editable=False)
    is_sickness = models.BooleanField(_("sickness"), default=False)
    is_discretionary = models.BooleanField(_("discretionary"), default=False)
    is_named_to_ai = models.BooleanField(
        _("named to AI clients"),
        default=False,
        db_default=False,
        help_text=_(
            "AI clients are answered the name. Of a category without an allowance, they are also "
            "answered the absences. Not for sickness."
        ),
    )
    public_holidays = models.CharField(
        _("public holidays"),
        max_length=10,
        choices=HolidayTreatment.choices,
        default=HolidayTreatment.EXCLUDE,
    )
    position = models.PositiveSmallIntegerField(_("position"), default=0)
    is_active = models.BooleanField(_("active"), default=True)

    class Meta:
        verbose_name = _("time-off category")
        verbose_name_plural = _("time-off categories")
        ordering = ("position", "name")
        constraints = (
            models.UniqueConstraint(fields=("organization", "name"), name="people_category_name"),
        )

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        super().clean()
        if self.is_named_to_ai and self.is_sickness:
            message = _("A category of sickness is not named to AI clients.")
            raise ValidationError({"is_named_to_ai": message})

    @property
    def kind(self) -> CategoryKind:
        if self.is_sickness:
            return CategoryKind.SICKNESS
        return CategoryKind.ALLOWANCE if self.consumes_balance else CategoryKind.OTHER

    @property
    def name_for_ai(self) -> str:
        """The name, if the organization allows it and it says nothing of a person's health."""
        return self.name if self.is_named_to_ai and not self.is_sickness else UNNAMED


class AbsenceStatus(models.TextChoices):
    PENDING = "pending", _("Pending")
    APPROVED = "approved", _("Approved")
    REJECTED = "rejected", _("Rejected")
    CANCELLED = "cancelled", _("Cancelled")


# The statuses in which a request blocks its days for others of the same person.
BLOCKING: Final = (AbsenceStatus.PENDING, AbsenceStatus.APPROVED)


def new_time_off_id() -> str:
    return ids.reference("time_off_")


class TimeOff(Record):
    """A person's absence, requested or approved. `people.time_off` writes it.

    Both dates are included. `amount_days` and `amount_minutes` are calculated when it is requested
    and repeat what the working pattern and the public holidays said then.
    """

    id = key(new_time_off_id)
    person = models.ForeignKey(Person, models.CASCADE, related_name="time_off")
    category = models.ForeignKey(TimeOffCategory, models.PROTECT, related_name="+")
    start_date = models.DateField(_("first day"))
    end_date = models.DateField(_("last day"))
    is_from_half_day = models.BooleanField(_("half of the first day"), default=False)
    is_to_half_day = models.BooleanField(_("half of the last day"), default=False)
    amount_days = days(_("days"), editable=False)
    amount_minutes = models.PositiveIntegerField(_("minutes"), editable=False)
    status = models.CharField(
        _("status"),
        max_length=10,
        choices=AbsenceStatus.choices,
        default=AbsenceStatus.PENDING,
        editable=False,
    )
    note = models.CharField(_("note"), max_length=512, blank=True)
    response_note = models.CharField(
        _("note of the decision"), max_length=512, blank=True, editable=False
    )
    decided_at = models.DateTimeField(_("decided"), null=True, editable=False)
    # Of those that its leave policy needs; none once it is changed.
    approved_steps = models.PositiveSmallIntegerField(
        _("approved steps"), default=0, db_default=0, editable=False
    )

    class Meta:
        verbose_name = _("time off")
        verbose_name_plural = _("time off")
        ordering = ("-start_date", "id")
        constraints = (
            models.CheckConstraint(
                condition=Q(end_date__gte=F("start_date")),
                name="people_time_off_ends_after_it_begins",
                violation_error_message=_("The last day is before the first day."),
            ),
        )
        indexes = (
            models.Index(fields=("person", "start_date"), name="people_time_off_of_person"),
            models.Index(fields=("organization", "start_date"), name="people_time_off_by_day"),
            models.Index(
                fields=("organization", "status", "start_date", "end_date"),
                name="people_time_off_by_status",
            ),
            models.Index(
                fields=("organization", "-updated_at", "id"), name="people_time_off_updated"
            ),
        )

    def __str__(self) -> str:
        return f"{self.person}, {self.start_date} - {self.end_date}"


class EntryType(models.TextChoices):
    ALLOWANCE_GRANT = "allowance_grant", _("Allowance granted")
    CARRY_OVER = "carry_over", _("Carried over")
    MANUAL_ADJUSTMENT = "manual_adjustment", _("Manual adjustment")
    CORRECTION = "correction", _("Correction")
    EXPIRED = "expired", _("Expired")


def new_entry_id() -> str:
    return ids.reference("tol_")


class LedgerEntry(Record):
    """A change of a person's allowance in the leave year of its day; negative ones take away.

    What is carried over is calculated. An entry of that type on the first day of a leave year is in
    place of it, unless it `is_replaced`: earlier versions wrote what they calculated.
    """

    id = key(new_entry_id)
    person = models.ForeignKey(Person, models.CASCADE, related_name="ledger")
    category = models.ForeignKey(TimeOffCategory, models.CASCADE, related_name="+")
    entry_type = models.CharField(
        _("type"),
        max_length=20,
        choices=EntryType.choices,
        default=EntryType.MANUAL_ADJUSTMENT,
    )
    amount_days = days(_("days"))
    effective_date = models.DateField(_("day"))
    note = models.CharField(_("note"), max_length=200, blank=True)
    is_replaced = models.BooleanField(
        _("calculated instead"), default=False, db_default=False, editable=False
    )

    class Meta:
        verbose_name = _("ledger entry")
        verbose_name_plural = _("leave ledger")
        ordering = ("-effective_date", "id")
        constraints = (
            models.UniqueConstraint(
                fields=("person", "category", "effective_date"),
                condition=Q(entry_type=EntryType.CARRY_OVER),
                name="people_carried_over_once",
            ),
        )
        indexes = (
            models.Index(fields=("person", "effective_date"), name="people_ledger_of_person"),
        )

    def __str__(self) -> str:
        return f"{self.person}: {self.amount_days}"


def new_settings_id() -> str:
    return ids.reference("time_off_settings_")


class TimeOffSettings(Record):
    """When the leave year of an organization begins, and what a full-time week is."""

    id = key(new_settings_id)
    organization = models.OneToOneField(Organization, models.CASCADE, related_name="+")
    reset_month = models.PositiveSmallIntegerField(
        _("first month of the leave year"),
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(12)],
    )
    reset_day = models.PositiveSmallIntegerField(
        _("first day of the leave year"),
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(31)],
    )
    full_time_weekly_minutes = models.PositiveIntegerField(
        _("minutes of a full-time week"), default=2400
    )
    show_national_holidays = models.BooleanField(_("show public holidays"), default=True)
    country_code = models.CharField(
        _("country"), max_length=2, blank=True, choices=countries.choices
    )

    class Meta:
        verbose_name = _("time-off settings")
        verbose_name_plural = _("time-off settings")

    def __str__(self) -> str:
        return str(self.organization)

    def clean(self) -> None:
        check_day_of_year(self.reset_month, self.reset_day, "reset_day")


def new_holiday_id() -> str:
    return ids.reference("hol_")


class PublicHoliday(Record):
    """A day on which people with its calendar do not work, or work half.

    One without a calendar was written by an older process, and belongs to the default one.
    """

    id = key(new_holiday_id)
    calendar = models.ForeignKey(
        HolidayCalendar,
        models.CASCADE,
        verbose_name=_("calendar"),
        related_name="holidays",
        null=True,
    )
    date = models.DateField(_("day"))
    name = models.CharField(_("name"), max_length=100)
    is_half_day = models.BooleanField(
        _("half a day"),
        default=False,
        db_default=False,
        help_text=_("Half of the day is worked, such as on 24 December."),
    )
    description = models.CharField(_("description"), max_length=200, blank=True)

    class Meta:
        verbose_name = _("public holiday")
        verbose_name_plural = _("public holidays")
        ordering = ("date", "id")
        constraints = (
            models.UniqueConstraint(
                fields=("calendar", "date"),
                name="people_holiday_a_day_of_a_calendar",
                violation_error_message=_("The calendar has a holiday on this day."),
            ),
            models.UniqueConstraint(
                fields=("organization", "date"),
                condition=Q(calendar=None),
                name="people_holiday_a_day_without_calendar",
            ),
        )

    def __str__(self) -> str:
        return f"{self.date} {self.name}"
