"""Erasures of customers: a record of each, and what one that is not finished needs."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from foundation.ids import uuid7
from workspace.models.people import Organization


class ErasedNameKind(models.TextChoices):
    USER_ID = "user_id", _("user id")
    EMAIL = "email", _("email address")


class ErasedName(models.Model):
    """The keyed hash of an id or address of an erased person. `customers.privacy.suppression`."""

    organization = models.ForeignKey(Organization, models.CASCADE, related_name="+")
    kind = models.CharField(max_length=10, choices=ErasedNameKind.choices)
    digest = models.CharField(max_length=64)
    until = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=("organization", "digest"), name="workspace_one_erased_name"
            ),
        ]
        indexes = [models.Index(fields=("until",), name="workspace_erased_until")]

    def __str__(self) -> str:
        return self.digest


class Erasure(models.Model):
    """The erasure of a customer. `customers.privacy.erasure` writes it.

    `names` holds what other rows call the customer, such as the email address. It is emptied when
    the erasure is finished; then the internal id, the times, the actor and the counts remain.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="+")
    customer_id = models.CharField(_("customer id"), max_length=64)
    names = models.JSONField(default=dict, editable=False)
    actor = models.CharField(_("by"), max_length=254)
    user_id = models.CharField(max_length=64, blank=True)
    address = models.CharField(max_length=64, blank=True)
    counts = models.JSONField(_("counts"), default=dict)
    begun_at = models.DateTimeField(_("begun"), default=timezone.now)
    finished_at = models.DateTimeField(_("finished"), null=True)

    class Meta:
        verbose_name = _("erasure")
        verbose_name_plural = _("erasures")
        constraints = [
            models.UniqueConstraint(
                fields=("organization", "customer_id"), name="workspace_one_erasure"
            ),
        ]
        indexes = [
            models.Index(
                fields=("begun_at",),
                condition=models.Q(finished_at__isnull=True),
                name="workspace_erasure_open",
            ),
        ]

    def __str__(self) -> str:
        return self.customer_id
