"""How many records of people left over MCP, and when."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from workspace.models import Organization


class DataUse(models.Model):
    """The records of people that one call was answered. `people.mcp.budget` writes it."""

    organization = models.ForeignKey(Organization, models.CASCADE, related_name="+")
    key_id = models.UUIDField(_("API key"))
    at = models.DateTimeField(_("time"), default=timezone.now)
    rows = models.PositiveIntegerField(_("records"))

    class Meta:
        verbose_name = _("use of personal data")
        verbose_name_plural = _("use of personal data")
        indexes = (models.Index(fields=("organization", "at"), name="people_use_by_time"),)

    def __str__(self) -> str:
        return f"{self.at}: {self.rows}"
