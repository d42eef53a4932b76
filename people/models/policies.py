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
from people.models.time_off import TimeOffCategory, days
from people.models.units import OrgUnit

MAX_YEARS = 60


def new_policy_id() -> str:
    return ids.reference("lpo_")


class LeavePolicy(Record):
    """The days a year of a category, for people who meet all of its conditions.

    `people.allowances` says which of several holds. Without one, it is the days of the category.
    """

    id = key(new_policy_id)
    name = models.CharField(_("name"), max_length=100)
    category = models.ForeignKey(TimeOffCategory, models.RESTRICT, related_name="policies")
    allowance_days = days(_("days a year"), validators=[MinValueValidator(Decimal(0))])
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
        if self.valid_to and self.valid_from and self.valid_to < self.valid_from:
            raise ValidationError({"valid_to": _("The last day is before the first day.")})
