"""When each task of the schedule was sent and run, and values that prove the sealing keys."""

from django.db import models
from django.utils import timezone


class ScheduledTask(models.Model):
    """A task of the schedule. `foundation/scheduled_tasks.py` is its only reader and writer.

    `sent_at` is when a scheduler sent it to the workers last. `ran_at` is when a worker ran it,
    and kept for one task only, which does nothing else.
    """

    name = models.CharField(primary_key=True, max_length=100)
    sent_at = models.DateTimeField()
    ran_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name


class SealingProof(models.Model):
    """A value sealed with one key: whether it opens says whether that key is configured.

    `foundation/sealing_proofs.py` is its only reader and writer.
    """

    # As in `foundation.sealing`, in hexadecimal.
    key_id = models.CharField(max_length=16, primary_key=True)
    sealed = models.BinaryField()
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.key_id
