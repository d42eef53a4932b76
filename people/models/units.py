"""The units of an organization and who belongs to them."""

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from foundation import ids
from people.models.columns import Record, key


class UnitType(models.TextChoices):
    DEPARTMENT = "department", _("Department")
    TEAM = "team", _("Team")
    DIVISION = "division", _("Division")
    COST_CENTRE = "cost_centre", _("Cost centre")
    LEGAL_ENTITY = "legal_entity", _("Legal entity")
    LOCATION_GROUP = "location_group", _("Location group")


class UnitRole(models.TextChoices):
    MEMBER = "member", _("Member")
    MANAGER = "manager", _("Manager")
    OWNER = "owner", _("Owner")


def new_unit_id() -> str:
    return ids.reference("org_unit_")


def new_membership_id() -> str:
    return ids.reference("org_unit_membership_")


class OrgUnit(Record):
    """A department, team or other unit; units form a tree."""

    id = key(new_unit_id)
    type = models.CharField(_("type"), max_length=20, choices=UnitType.choices)
    name = models.CharField(_("name"), max_length=100)
    code = models.CharField(_("code"), max_length=40, blank=True)
    description = models.CharField(_("description"), max_length=500, blank=True)
    parent = models.ForeignKey(
        "self", models.SET_NULL, related_name="children", null=True, blank=True
    )
    active_from = models.DateField(_("active from"), null=True, blank=True)
    active_to = models.DateField(_("active to"), null=True, blank=True)
    archived_at = models.DateTimeField(_("archived"), null=True, blank=True)

    class Meta:
        verbose_name = _("organization unit")
        verbose_name_plural = _("organization units")
        ordering = ("type", "name")
        constraints = (
            models.UniqueConstraint(
                fields=("organization", "type", "name"), name="people_unit_name"
            ),
        )

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        seen, above = {self.pk}, self.parent
        while above is not None:
            if above.pk in seen:
                raise ValidationError({"parent": _("A unit cannot be below itself.")})
            seen.add(above.pk)
            above = above.parent


class OrgUnitMembership(Record):
    """A person's place in a unit, from a day on and, if it ended, up to a day (exclusive)."""

    id = key(new_membership_id)
    person = models.ForeignKey("people.Person", models.CASCADE, related_name="unit_memberships")
    unit = models.ForeignKey(OrgUnit, models.CASCADE, related_name="memberships")
    role = models.CharField(
        _("role"), max_length=10, choices=UnitRole.choices, default=UnitRole.MEMBER
    )
    is_primary = models.BooleanField(_("primary"), default=False)
    effective_from = models.DateField(_("from"))
    effective_to = models.DateField(_("up to"), null=True, blank=True)

    class Meta:
        verbose_name = _("unit membership")
        verbose_name_plural = _("unit memberships")
        ordering = ("effective_from", "id")
        constraints = (
            models.CheckConstraint(
                condition=Q(effective_to__isnull=True) | Q(effective_to__gt=F("effective_from")),
                name="people_membership_ends_after_it_begins",
                violation_error_message=_("The end must be after the beginning."),
            ),
        )

    def __str__(self) -> str:
        return f"{self.person} - {self.unit}"
