"""The columns that customers and companies share, and the enumerations of their values."""

from decimal import Decimal

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class RenewalStatus(models.TextChoices):
    UP_FOR_RENEWAL = "up_for_renewal", _("Up for renewal")
    IN_PROGRESS = "in_progress", _("In progress")
    LIKELY_TO_RENEW = "likely_to_renew", _("Likely to renew")
    EXPANSION_OPPORTUNITY = "expansion_opportunity", _("Expansion opportunity")
    SET_TO_CANCEL = "set_to_cancel", _("Set to cancel")
    SET_TO_CANCEL_TRIAL = "set_to_cancel_trial", _("Set to cancel trial")
    AT_RISK = "at_risk", _("At risk")
    RENEWED = "renewed", _("Renewed")
    LOST = "lost", _("Lost")


class Term(models.TextChoices):
    MONTHLY = "monthly", _("Monthly")
    QUARTERLY = "quarterly", _("Quarterly")
    ANNUAL = "annual", _("Annual")
    BI_ANNUAL = "bi_annual", _("Bi-annual")


def money(label: str) -> "models.DecimalField[Decimal | None, Decimal | None]":
    """A column for an amount in major units of the organization's currency."""
    return models.DecimalField(
        label,
        max_digits=14,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(Decimal(0))],
    )


def percentage(label: str) -> "models.PositiveSmallIntegerField[int | None, int | None]":
    """A column for a whole number from 0 to 100; NULL where it is not known."""
    return models.PositiveSmallIntegerField(
        label, null=True, blank=True, validators=[MaxValueValidator(100)]
    )


class Account(models.Model):
    """What is known about a paying party; an organization's own app sets these as traits."""

    plan = models.CharField(_("plan"), max_length=100, blank=True)
    signed_up_at = models.DateTimeField(_("signed up"), null=True, blank=True)
    renewal_status = models.CharField(
        _("renewal status"), max_length=30, choices=RenewalStatus.choices, blank=True
    )
    renewal_date = models.DateField(_("renewal date"), null=True, blank=True)
    contract_term = models.CharField(
        _("contract term"), max_length=10, choices=Term.choices, blank=True
    )
    payment_terms = models.CharField(
        _("payment terms"), max_length=10, choices=Term.choices, blank=True
    )
    on_contract = models.BooleanField(_("on contract"), null=True, blank=True)
    mrr = money("MRR")
    arr = money("ARR")
    custom_fields = models.JSONField(_("custom fields"), default=dict, blank=True)
    last_contacted_at = models.DateTimeField(_("last contacted"), null=True, editable=False)
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    updated_at = models.DateTimeField(_("changed"), default=timezone.now, editable=False)

    class Meta:
        abstract = True
