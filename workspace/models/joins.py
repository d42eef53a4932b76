"""Other ids and earlier addresses of customers, and the record of what was joined to a customer."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from foundation import ids
from workspace.models.customers import Customer
from workspace.models.people import Organization


def new_join_id() -> str:
    return ids.reference("join_")


class JoinRule(models.TextChoices):
    SESSION = "session", _("Same session")
    ADDRESS = "address", _("Same email address")
    MERGE = "merge", _("Two customers are one person")


class JoinOrigin(models.TextChoices):
    PAGE = "page", _("Page")
    SERVER = "server", _("Server")
    IMPORT = "import", _("Import")
    ADMIN = "admin", _("Admin")


class Join(models.Model):
    """Rows that a rule gave to a customer. `customers.identification.joins` writes it.

    `source` is the session, the address in lower case, or the id of the customer who was merged.
    `rows` has the keys of the rows that this join moved, by table, and `companies` those of them
    whose company it set. `filled` are the values that the customer got, and `merged` is the row of
    the customer who was merged, by column.
    """

    id = models.CharField(
        _("join id"), primary_key=True, max_length=64, default=new_join_id, editable=False
    )
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="+", db_index=False)
    customer = models.ForeignKey(Customer, models.CASCADE, related_name="joins")
    rule = models.CharField(_("rule"), max_length=10, choices=JoinRule.choices)
    source = models.CharField(_("source"), max_length=254)
    origin = models.CharField(_("from"), max_length=10, choices=JoinOrigin.choices)
    actor = models.CharField(_("by"), max_length=254, blank=True)
    rows = models.JSONField(_("rows"), default=dict)
    companies = models.JSONField(default=dict)
    filled = models.JSONField(default=dict)
    merged = models.JSONField(default=dict)
    joined_at = models.DateTimeField(_("joined"), default=timezone.now)
    undone_at = models.DateTimeField(_("undone"), null=True)
    undone_by = models.CharField(_("undone by"), max_length=254, blank=True)

    class Meta:
        verbose_name = _("join")
        verbose_name_plural = _("joins")
        indexes = [
            models.Index(fields=("organization", "-joined_at", "id"), name="workspace_join_new"),
            models.Index(fields=("organization", "source"), name="workspace_join_source"),
        ]

    def __str__(self) -> str:
        return f"{self.get_rule_display()}: {self.source}"


class AliasKind(models.TextChoices):
    ID = "id", _("Customer id")
    EXTERNAL_ID = "external_id", _("External id")
    EMAIL = "email", _("Earlier email address")


class CustomerAlias(models.Model):
    """An id or an address that a customer had. `customers.identification.aliases` writes it.

    Ids are those of a customer who was merged into this one: each names one customer, and none
    that exists. Several customers may have had one address. `key` is what `value` is found by.
    `join` is the merge that the alias comes from.
    """

    organization = models.ForeignKey(Organization, models.CASCADE, related_name="+", db_index=False)
    customer = models.ForeignKey(Customer, models.CASCADE, related_name="aliases", db_index=False)
    join = models.ForeignKey(Join, models.SET_NULL, related_name="aliases", null=True)
    kind = models.CharField(_("kind"), max_length=12, choices=AliasKind.choices)
    value = models.CharField(_("value"), max_length=254)
    key = models.CharField(max_length=254, editable=False)
    created_at = models.DateTimeField(_("created"), default=timezone.now)

    class Meta:
        verbose_name = _("alias")
        verbose_name_plural = _("aliases")
        constraints = [
            models.UniqueConstraint(
                fields=("organization", "kind", "key"),
                condition=~models.Q(kind=AliasKind.EMAIL),
                name="workspace_one_alias",
            ),
            models.UniqueConstraint(
                fields=("customer", "kind", "key"), name="workspace_one_alias_of_customer"
            ),
        ]
        indexes = [
            models.Index(fields=("key", "organization"), name="workspace_alias_key"),
        ]

    def __str__(self) -> str:
        return self.value
