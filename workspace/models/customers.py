"""Customers, the companies they belong to, and leads that have not signed up yet."""

from typing import Final

from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import F
from django.db.models.functions import Coalesce, Upper
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from foundation import ids
from foundation.text.columns import SearchTextField
from workspace.models.columns import Account, percentage
from workspace.models.people import Organization


def new_customer_id() -> str:
    return ids.opaque("u_")


def new_company_id() -> str:
    return ids.reference("co_")


def new_lead_id() -> str:
    return ids.reference("lead_")


class Company(Account):
    """A company that customers belong to. Rows are written by `customers.companies` only.

    `external_id` is the company's id in the organization's own app. `name_key` and `domain` are for
    lookups: lower case, and the domain without `www.`.
    """

    id = models.CharField(
        _("company id"), primary_key=True, max_length=64, default=new_company_id, editable=False
    )
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="companies")
    external_id = models.CharField(_("external id"), max_length=200, blank=True)
    name = models.CharField(_("name"), max_length=200, blank=True)
    name_key = models.CharField(max_length=200, blank=True, editable=False)
    domain = models.CharField(_("domain"), max_length=253, blank=True)
    industry = models.CharField(_("industry"), max_length=100, blank=True)
    employee_count = models.PositiveIntegerField(
        _("employees"), null=True, blank=True, validators=[MaxValueValidator(2**31 - 1)]
    )
    health_score = percentage("health score")
    team_size = models.PositiveIntegerField(_("team size"), null=True, editable=False)

    class Meta:
        verbose_name = _("company")
        verbose_name_plural = _("companies")
        indexes = [
            models.Index(fields=("organization", "name_key"), name="workspace_comp_name"),
            models.Index(fields=("organization", "domain"), name="workspace_comp_domain"),
            models.Index(fields=("organization", "-mrr", "id"), name="workspace_comp_mrr"),
            models.Index(
                fields=("organization", "health_score", "id"), name="workspace_comp_health"
            ),
            models.Index(
                fields=("organization", "renewal_date", "id"), name="workspace_comp_renewal"
            ),
            models.Index(fields=("organization", "-created_at", "id"), name="workspace_comp_new"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=("organization", "external_id"),
                condition=~models.Q(external_id=""),
                name="workspace_one_company_external_id",
                violation_error_message=_("Another company has this external id."),
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.domain or self.external_id or self.id


class Lifecycle(models.TextChoices):
    TRIAL = "trial", _("Trial")
    ACTIVE = "active", _("Active")
    CHURNED = "churned", _("Churned")


# The time at which a customer started, as key figures count it.
STARTED: Final = Coalesce("signed_up_at", "first_seen", "created_at")


class Customer(Account):
    """A customer of an organization. A call is bound to one by `id` or by `email`.

    `id` cannot be guessed. `external_id` is the customer's id in the organization's own app. Two
    customers may have one `email`. Rows are written by `customers.customers` only, which sets
    `email_key` and `name_key` for lookups. `email_claimed_at` is set if a page has claimed the
    address, and no server has said it since. `context` holds entries `{label, type, value}` by key.
    `erased_at` is set while the rows of an erased customer are removed: the customer is empty then,
    and nobody reads it.
    """

    id = models.CharField(
        _("customer id"),
        primary_key=True,
        max_length=64,
        default=new_customer_id,
        editable=False,
        help_text=_("What a client sends as bound_end_user_id."),
    )
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="customers")
    external_id = models.CharField(
        _("external id"),
        max_length=200,
        blank=True,
        help_text=_("The customer's id in your own app. No two customers have the same."),
    )
    email = models.EmailField(_("email address"), blank=True)
    email_key = models.CharField(max_length=254, blank=True, editable=False)
    email_claimed_at = models.DateTimeField(null=True, editable=False)
    name = models.CharField(_("name"), max_length=200, blank=True)
    name_key = models.CharField(max_length=200, blank=True, editable=False)
    company = models.ForeignKey(
        Company, models.SET_NULL, related_name="customers", null=True, blank=True
    )
    avatar = models.CharField(_("avatar"), max_length=2048, blank=True)
    role = models.CharField(_("role"), max_length=100, blank=True)
    lifecycle = models.CharField(
        _("lifecycle"), max_length=10, choices=Lifecycle.choices, default=Lifecycle.ACTIVE
    )
    churned_at = models.DateTimeField(_("churned"), null=True, editable=False)
    context = models.JSONField(_("context"), default=dict, blank=True)
    source = models.CharField(_("source"), max_length=50, blank=True)
    first_seen = models.DateTimeField(_("first seen"), null=True, editable=False)
    last_seen = models.DateTimeField(_("last seen"), null=True, editable=False)
    vendor_ids = models.JSONField(_("ids at vendors"), default=dict, blank=True)
    erased_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        verbose_name = _("customer")
        verbose_name_plural = _("customers")
        indexes = [
            models.Index(fields=("organization", "email_key"), name="workspace_cust_email"),
            models.Index(fields=("organization", "name_key"), name="workspace_cust_name"),
            # What is included is counted by, without reading the rows.
            models.Index(
                fields=("organization", "-last_seen", "id"),
                include=("plan", "company", "renewal_status"),
                name="workspace_cust_seen",
            ),
            models.Index(fields=("organization", "-signed_up_at", "id"), name="workspace_cust_new"),
            models.Index(fields=("organization", "-mrr", "id"), name="workspace_cust_mrr"),
            models.Index(fields=("organization", "churned_at"), name="workspace_cust_churned"),
            models.Index(
                fields=("organization", "renewal_date", "id"), name="workspace_cust_renewals"
            ),
            models.Index(F("organization"), STARTED, name="workspace_cust_started"),
            # For counting current customers by one column, without reading the rows.
            models.Index(
                fields=("organization", "plan", "lifecycle"),
                name="workspace_cust_plans",
                condition=models.Q(erased_at=None),
            ),
            models.Index(
                fields=("organization", "company", "lifecycle"),
                name="workspace_cust_companies",
                condition=models.Q(erased_at=None),
            ),
            # For the few of all customers that a list is filtered by.
            models.Index(
                F("organization"),
                F("lifecycle"),
                STARTED,
                name="workspace_cust_lifecycle",
                condition=~models.Q(lifecycle=Lifecycle.ACTIVE),
            ),
            models.Index(
                F("organization"),
                F("renewal_status"),
                STARTED,
                name="workspace_cust_renewal",
                condition=~models.Q(renewal_status=""),
            ),
            # As the data tools compare a text in upper or lower case.
            models.Index(
                F("organization"),
                Upper("plan"),
                F("last_seen").desc(),
                F("id"),
                name="workspace_cust_plan",
            ),
            models.Index(
                F("organization"),
                Upper("role"),
                F("last_seen").desc(),
                F("id"),
                name="workspace_cust_role",
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=("organization", "external_id"),
                condition=~models.Q(external_id=""),
                name="workspace_one_external_id",
                violation_error_message=_("Another customer has this external id."),
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.email or self.external_id or self.id


class LeadStatus(models.TextChoices):
    OPEN = "open", _("Open")
    CONVERTED = "converted", _("Converted")


class Lead(models.Model):
    """Someone captured by a form or a sales agent; a verified identify makes a customer of them."""

    id = models.CharField(
        _("lead id"), primary_key=True, max_length=64, default=new_lead_id, editable=False
    )
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="leads")
    email = models.EmailField(_("email address"), blank=True)
    email_key = models.CharField(max_length=254, blank=True, editable=False)
    name = models.CharField(_("name"), max_length=200, blank=True)
    fields = models.JSONField(_("fields"), default=dict, blank=True)
    source = models.CharField(_("source"), max_length=50, blank=True)
    status = models.CharField(
        _("status"), max_length=10, choices=LeadStatus.choices, default=LeadStatus.OPEN
    )
    search_text = SearchTextField(sources=("name", "email", "fields"))
    customer = models.ForeignKey(
        Customer, models.SET_NULL, related_name="leads", null=True, blank=True
    )
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    converted_at = models.DateTimeField(_("converted"), null=True, editable=False)

    class Meta:
        verbose_name = _("lead")
        verbose_name_plural = _("leads")
        indexes = [
            models.Index(fields=("organization", "email_key"), name="workspace_lead_email"),
            models.Index(fields=("organization", "-created_at", "id"), name="workspace_lead_new"),
            # The rows that have yet to be filled.
            models.Index(
                fields=("id",), name="workspace_lead_unfilled", condition=models.Q(search_text=None)
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.email or self.id
