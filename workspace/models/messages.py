"""What messages of tickets and of conversations have in common."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from workspace.models.people import Organization


class AuthorKind(models.TextChoices):
    CUSTOMER = "customer", _("Customer")
    AGENT = "agent", _("AI agent")
    TEAMMATE = "teammate", _("Teammate")
    SYSTEM = "system", _("System")


class Message(models.Model):
    """A message, numbered from 1 in its ticket or conversation.

    `id` is internal: the full-text index refers to it. People and tools name a message by its
    position. The author's name is stored as it was when the message was written.
    """

    id = models.BigAutoField(primary_key=True)
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="+", db_index=False)
    position = models.PositiveIntegerField(_("position"))
    at = models.DateTimeField(_("at"), default=timezone.now)
    author_kind = models.CharField(_("author"), max_length=10, choices=AuthorKind.choices)
    author_name = models.CharField(_("author's name"), max_length=200, blank=True)
    text = models.TextField(_("text"), blank=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.position}: {self.text[:60]}"
