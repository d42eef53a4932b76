"""People, what they are employed as, and the private part of their records."""

from typing import Any, Final

from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from foundation import ids
from foundation.text.words import MAX_WORD
from people import countries
from people.models.calendars import calendar_column
from people.models.columns import PERSON_ID_LENGTH, Record, key, new_person_id
from people.models.reference import ReferenceItem, WorkingPattern
from people.models.units import OrgUnit
from people.search_words import SOURCES, PersonWordsField
from workspace.models import Organization

MINUTES_PER_WEEK: Final = 7 * 24 * 60


def _reference() -> Any:
    return models.ForeignKey(
        ReferenceItem, models.RESTRICT, related_name="+", null=True, blank=True
    )


class Employment(models.Model):
    """What a person is employed as; the current state and each past one have these columns.

    What they name cannot be deleted: it would change the past.
    """

    job_title = models.CharField(_("job title"), max_length=128, blank=True)
    department = models.ForeignKey(
        OrgUnit, models.RESTRICT, related_name="+", null=True, blank=True
    )
    manager = models.ForeignKey(
        "people.Person", models.SET_NULL, related_name="%(class)s_reports", null=True, blank=True
    )
    work_place = _reference()
    holiday_calendar = calendar_column()
    work_type = _reference()
    working_pattern = models.ForeignKey(
        WorkingPattern, models.RESTRICT, related_name="+", null=True, blank=True
    )
    contracted_weekly_minutes = models.PositiveIntegerField(
        _("contracted minutes a week"),
        null=True,
        blank=True,
        validators=[MaxValueValidator(MINUTES_PER_WEEK)],
    )
    start_date = models.DateField(_("start date"), null=True, blank=True)
    end_date = models.DateField(_("end date"), null=True, blank=True)

    class Meta:
        abstract = True


# The columns of Employment, which `people.employment` copies into the history.
EMPLOYMENT_FIELDS: Final = tuple(field.name for field in Employment._meta.local_fields)


class Person(Record, Employment):
    """Somebody who works for the organization, with the current state of their employment."""

    id = key(new_person_id, PERSON_ID_LENGTH)
    first_name = models.CharField(_("first name"), max_length=64, blank=True)
    last_name = models.CharField(_("last name"), max_length=64, blank=True)
    preferred_name = models.CharField(_("preferred name"), max_length=64, blank=True)
    work_email = models.EmailField(_("work email"), max_length=254, blank=True)
    staff_id = models.CharField(_("staff id"), max_length=40, blank=True)
    status = _reference()
    search_text = PersonWordsField(sources=SOURCES)

    class Meta:
        verbose_name = _("person")
        verbose_name_plural = _("people")
        ordering = ("last_name", "first_name", "id")
        constraints = (
            models.UniqueConstraint(
                fields=("organization", "work_email"),
                condition=~Q(work_email=""),
                name="people_person_work_email",
                violation_error_message=_("Another person has this work email."),
            ),
            models.UniqueConstraint(
                fields=("organization", "staff_id"),
                condition=~Q(staff_id=""),
                name="people_person_staff_id",
                violation_error_message=_("Another person has this staff id."),
            ),
            models.CheckConstraint(
                condition=Q(end_date__isnull=True) | Q(end_date__gte=F("start_date")),
                name="people_person_ends_after_the_start",
                violation_error_message=_("The end date is before the start date."),
            ),
        )
        indexes = (
            models.Index(
                fields=("organization", "-updated_at", "id"), name="people_person_updated"
            ),
            models.Index(fields=("organization", "last_name", "id"), name="people_person_by_name"),
            models.Index(fields=("organization", "manager"), name="people_person_by_manager"),
            models.Index(
                fields=("organization", "end_date", "start_date"), name="people_person_employed"
            ),
            models.Index(
                fields=("organization",),
                condition=Q(search_text=None),
                name="people_person_unfilled",
            ),
        )

    def __str__(self) -> str:
        return self.display_name

    @property
    def display_name(self) -> str:
        names = (self.preferred_name or self.first_name, self.last_name)
        return " ".join(filter(None, names)) or self.pk


class PersonWord(models.Model):
    """A word that a person is found by. Triggers copy it from `Person.search_text`, and delete it.

    Its keys have no constraints: processes of earlier versions delete people without their words.
    """

    organization = models.ForeignKey(
        Organization, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False
    )
    person = models.ForeignKey(Person, models.DO_NOTHING, related_name="+", db_constraint=False)
    word = models.CharField(_("word"), max_length=MAX_WORD)

    class Meta:
        verbose_name = _("word of a person")
        verbose_name_plural = _("words of people")
        indexes = (
            # On PostgreSQL the words are in the order of bytes (migrations/_words.py).
            models.Index(fields=("organization", "word", "person"), name="people_word_of_person"),
        )

    def __str__(self) -> str:
        return self.word


def new_employment_id() -> str:
    return ids.reference("eh_")


class EmploymentRecord(Record, Employment):
    """The state of a person's employment from one day on. `people.employment` writes it."""

    id = key(new_employment_id)
    person = models.ForeignKey(Person, models.CASCADE, related_name="employment_history")
    effective_from = models.DateField(_("from"))
    is_ahead = models.BooleanField(
        _("its day has not begun"), default=False, db_default=False, editable=False
    )

    class Meta:
        verbose_name = _("employment record")
        verbose_name_plural = _("employment history")
        ordering = ("-effective_from",)
        constraints = (
            models.UniqueConstraint(
                fields=("person", "effective_from"), name="people_employment_one_a_day"
            ),
        )
        indexes = (
            models.Index(
                fields=("effective_from",),
                condition=Q(is_ahead=True),
                name="people_employment_ahead",
            ),
        )

    def __str__(self) -> str:
        return f"{self.job_title} ({self.effective_from})"


def new_profile_id() -> str:
    return ids.reference("profile_")


class PersonProfile(Record):
    """The private part of a person's record. Only the admin reads pay and tax columns."""

    id = key(new_profile_id)
    person = models.OneToOneField(Person, models.CASCADE, related_name="profile")
    middle_names = models.CharField(_("middle names"), max_length=100, blank=True)
    date_of_birth = models.DateField(_("date of birth"), null=True, blank=True)
    personal_email = models.EmailField(_("personal email"), max_length=254, blank=True)
    personal_phone_number = models.CharField(_("personal phone"), max_length=40, blank=True)
    work_phone_number = models.CharField(_("work phone"), max_length=40, blank=True)
    address_line_1 = models.CharField(_("address"), max_length=200, blank=True)
    address_line_2 = models.CharField(_("address, line 2"), max_length=200, blank=True)
    address_line_3 = models.CharField(_("address, line 3"), max_length=200, blank=True)
    city = models.CharField(_("city"), max_length=100, blank=True)
    region_state = models.CharField(_("region or state"), max_length=100, blank=True)
    postal_code = models.CharField(_("postal code"), max_length=20, blank=True)
    country_code = models.CharField(
        _("country"), max_length=2, blank=True, choices=countries.choices
    )
    annual_salary = models.DecimalField(
        _("annual salary"), max_digits=12, decimal_places=2, null=True, blank=True
    )
    bank_account = models.CharField(_("bank account"), max_length=60, blank=True)
    tax_id = models.CharField(_("tax id"), max_length=60, blank=True)
    notes = models.TextField(_("notes"), max_length=4000, blank=True)

    class Meta:
        verbose_name = _("private profile")
        verbose_name_plural = _("private profiles")

    def __str__(self) -> str:
        return str(self.person)


class RelationshipType(models.TextChoices):
    LINE_MANAGER = "line_manager", _("Line manager")
    DOTTED_LINE_MANAGER = "dotted_line_manager", _("Dotted-line manager")
    APPROVER = "approver", _("Approver")
    HR_PARTNER = "hr_partner", _("HR partner")
    DEPUTY = "deputy", _("Deputy")


def new_relationship_id() -> str:
    return ids.reference("person_relationship_")


class PersonRelationship(Record):
    """Who manages, approves or advises a person besides the manager of their employment."""

    id = key(new_relationship_id)
    person = models.ForeignKey(Person, models.CASCADE, related_name="relationships")
    related_person = models.ForeignKey(Person, models.CASCADE, related_name="related_to")
    type = models.CharField(_("type"), max_length=20, choices=RelationshipType.choices)
    is_primary = models.BooleanField(_("primary"), default=False)
    effective_from = models.DateField(_("from"))
    effective_to = models.DateField(_("up to"), null=True, blank=True)

    class Meta:
        verbose_name = _("relationship")
        verbose_name_plural = _("relationships")
        ordering = ("effective_from", "id")
        constraints = (
            models.CheckConstraint(
                condition=~Q(person=F("related_person")),
                name="people_relationship_of_two",
                violation_error_message=_("A person cannot be related to themselves."),
            ),
            models.CheckConstraint(
                condition=Q(effective_to__isnull=True) | Q(effective_to__gt=F("effective_from")),
                name="people_relationship_ends_after_it_begins",
                violation_error_message=_("The end must be after the beginning."),
            ),
        )

    def __str__(self) -> str:
        return f"{self.person} - {self.related_person}"
