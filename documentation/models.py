"""The copy of the documentation that search uses."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class DocumentationSection(models.Model):
    """A page of the public documentation under one heading: the unit that search ranks."""

    id = models.BigAutoField(primary_key=True)
    page = models.CharField(_("page"), max_length=120)
    page_title = models.CharField(_("page title"), max_length=200)
    position = models.PositiveIntegerField(_("position"))
    anchor = models.CharField(_("anchor"), max_length=200, blank=True)
    heading = models.CharField(_("heading"), max_length=200)
    text = models.TextField(_("text"))
    # Of the whole page's source, so that indexing again is a comparison.
    digest = models.CharField(max_length=64)
    indexed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        # tools_registry created the table; the search index uses this name.
        db_table = "tools_registry_documentationsection"
        verbose_name = _("documentation section")
        verbose_name_plural = _("documentation sections")
        constraints = [
            models.UniqueConstraint(fields=("page", "position"), name="tools_one_section_a_place"),
        ]

    def __str__(self) -> str:
        return f"{self.page}#{self.anchor}"
