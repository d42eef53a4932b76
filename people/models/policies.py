"""How many days of a category people have in a year: by policies, each from a day on."""

from decimal import Decimal

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from foundation import ids
from people.models.columns import Record, key
from people.models.people import Person
from people.models.reference import ReferenceItem, ReferenceKind
from people.models.time_off import CarriedDaysEnd, TimeOffCategory, days
from people.models.units import OrgUnit

MAX_YEARS = 60
MAX_CANCELLATION_DAYS = 366


def new_policy_id() -> str:
    return ids.reference("lpo_")


class OverdraftRule(models.TextChoices):
    """What becomes of a request that takes more days than are left of the allowance."""

    ACCEPTED = "accepted", _("Accepted")
    WARNED = "warned", _("Accepted with a warning")
    REFUSED = "refused", _("Refused")


class CancellationRule(models.TextChoices):
    """Who cancels an approved request. Admins always may, on its page."""

    ADMINS = "admins", _("Admins only")
    APPROVERS = "approvers", _("Those who may approve it, and programs")
    EVERYBODY = "everybody", _("The person, those who may approve it, and programs")


class LeavePolicy(CarriedDaysEnd, Record):
    """The days a year of a category and its rules, for people who meet all of its conditions.

    `people.allowances` says which of several holds. Without one, it is the days of the category,
    and the rules are the defaults of the columns. What is carried over follows the category where a
    policy leaves it empty.
    """

    id = key(new_policy_id)
    name = models.CharField(_("name"), max_length=100)
    category = models.ForeignKey(TimeOffCategory, models.RESTRICT, related_name="policies")
    allowance_days = days(_("days a year"), validators=[MinValueValidator(Decimal(0))])
    carry_over_days = days(
        _("days carried over at most"),
        null=True,
        blank=True,
        validators=[MinValueValidator(Decimal(0))],
        help_text=_(
            "Into the leave years that begin while the policy holds. Empty: as the next policy or "
            "the category says."
        ),
    )
    carries_debt = models.BooleanField(
        _("carries over what was taken too much"),
        null=True,
        blank=True,
        help_text=_(
            "What is below zero at the end of a leave year is subtracted from the next one."
        ),
    )
    valid_from = models.DateField(_("from"))
    valid_to = models.DateField(
        _("to"),
        null=True,
        blank=True,
        help_text=_("The last day. Empty: until another policy for the same people begins."),
    )
    person = models.ForeignKey(
        Person,
        models.CASCADE,
        verbose_name=_("person"),
        related_name="leave_policies",
        null=True,
        blank=True,
        help_text=_("Of these conditions, people meet all. Empty: everybody."),
    )
    department = models.ForeignKey(
        OrgUnit,
        models.RESTRICT,
        verbose_name=_("department"),
        related_name="+",
        null=True,
        blank=True,
    )
    work_type = models.ForeignKey(
        ReferenceItem,
        models.RESTRICT,
        verbose_name=_("work type"),
        related_name="+",
        null=True,
        blank=True,
        limit_choices_to={"kind": ReferenceKind.WORK_TYPE},
    )
    work_place = models.ForeignKey(
        ReferenceItem,
        models.RESTRICT,
        verbose_name=_("work place"),
        related_name="+",
        null=True,
        blank=True,
        limit_choices_to={"kind": ReferenceKind.WORK_PLACE},
    )
    years_of_service = models.PositiveSmallIntegerField(
        _("years of service at least"),
        default=0,
        validators=[MaxValueValidator(MAX_YEARS)],
        help_text=_("Complete years since the person joined, or joined again."),
    )
    overdraft = models.CharField(
        _("more days than are left"),
        max_length=10,
        choices=OverdraftRule.choices,
        default=OverdraftRule.WARNED,
        db_default=OverdraftRule.WARNED,
        help_text=_("The rules are those of requests that begin while this policy holds."),
    )
    approval_steps = models.PositiveSmallIntegerField(
        _("approvals"),
        choices=((1, _("One")), (2, _("Two, by different people"))),
        default=1,
        db_default=1,
    )
    cancellation = models.CharField(
        _("approved requests are cancelled by"),
        max_length=10,
        choices=CancellationRule.choices,
        default=CancellationRule.ADMINS,
        db_default=CancellationRule.ADMINS,
    )
    cancellation_days = models.PositiveSmallIntegerField(
        _("cancelled how many days before the first day"),
        default=1,
        db_default=1,
        validators=[MaxValueValidator(MAX_CANCELLATION_DAYS)],
        help_text=_("At the latest. 0: on the first day too. Admins are not bound by it."),
    )

    class Meta:
        verbose_name = _("leave policy")
        verbose_name_plural = _("leave policies")
        ordering = ("category", "valid_from", "id")
        indexes = (
            models.Index(fields=("organization", "category"), name="people_policy_of_category"),
        )

    def __str__(self) -> str:
        return f"{self.name} ({self.valid_from})"

    def clean(self) -> None:
        super().clean()
        if self.valid_to and self.valid_from and self.valid_to < self.valid_from:
            raise ValidationError({"valid_to": _("The last day is before the first day.")})
