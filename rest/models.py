"""Requests that a client may repeat, by the key that it gave them."""

from django.db import models
from django.utils import timezone

from workspace.models import Organization


class RepeatableRequest(models.Model):
    """A request with an Idempotency-Key, and what it created. `idempotency` writes it.

    `key` is the digest of the key and its caller, `fingerprint` the SHA-256 of the request: the
    same key with another request is an error.
    """

    organization = models.ForeignKey(Organization, models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=200)
    fingerprint = models.CharField(max_length=64)
    response = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        # The name of earlier versions, which use the same database during an upgrade.
        db_table = "ingestion_repeatablerequest"
        verbose_name = "repeatable request"
        verbose_name_plural = "repeatable requests"
        constraints = [
            models.UniqueConstraint(
                fields=("organization", "key"), name="ingestion_one_request_per_key"
            ),
        ]

    def __str__(self) -> str:
        return self.key
