"""What people have started on pages, and what came of it."""

from datetime import timedelta
from typing import Final

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from foundation import ids
from workspace.models.people import Organization

# Longer than every job takes: one that has not ended by then died with its process.
MAX_DURATION: Final = timedelta(minutes=5)


class PageJob(models.Model):
    """Something that a page has started and that waits for another server.

    Only the person reads it. `back` is the path of the page that it was started on, and `result`
    that of a page with what it made. A row stays RUNNING if its process has died.
    """

    class JobState(models.TextChoices):
        RUNNING = "running", _("Running")
        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")
        INTERRUPTED = "interrupted", _("Interrupted")

    id = models.UUIDField(primary_key=True, default=ids.uuid7, editable=False)
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    title = models.CharField(max_length=200)
    state = models.CharField(max_length=20, choices=JobState.choices, default=JobState.RUNNING)
    message = models.CharField(max_length=1000, blank=True)
    back = models.CharField(max_length=200)
    result = models.CharField(max_length=200, blank=True)
    started_at = models.DateTimeField(default=timezone.now, editable=False)
    ended_at = models.DateTimeField(null=True, editable=False)

    def __str__(self) -> str:
        return self.title

    @property
    def current_state(self) -> JobState:
        is_dead = self.started_at < timezone.now() - MAX_DURATION
        if self.state == self.JobState.RUNNING and is_dead:
            return self.JobState.INTERRUPTED
        return self.JobState(self.state)
