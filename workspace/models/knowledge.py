"""The knowledge base: where its text comes from, and the passages that are searched."""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from foundation import ids
from workspace.models.people import Organization


def new_source_id() -> str:
    return ids.reference("ks_")


class SourceKind(models.TextChoices):
    MARKDOWN = "markdown", _("Markdown")
    HTML = "html", _("HTML")
    PDF = "pdf", _("PDF")
    DOCX = "docx", _("Word document")
    URL = "url", _("Web page")
    SITEMAP = "sitemap", _("Sitemap")


class SourceStatus(models.TextChoices):
    PENDING = "pending", _("Waiting")
    INDEXING = "indexing", _("Being indexed")
    READY = "ready", _("Ready")
    FAILED = "failed", _("Failed")


class KnowledgeSource(models.Model):
    """A document or a web page. The worker turns it into passages; the original file is kept."""

    id = models.CharField(
        _("source id"), primary_key=True, max_length=64, default=new_source_id, editable=False
    )
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="knowledge")
    kind = models.CharField(_("kind"), max_length=10, choices=SourceKind.choices)
    title = models.CharField(_("title"), max_length=300, blank=True)
    url = models.CharField(_("address"), max_length=2048, blank=True)
    original = models.BinaryField(null=True, editable=False)
    digest = models.CharField(max_length=64, blank=True, editable=False)
    status = models.CharField(
        _("status"),
        max_length=10,
        choices=SourceStatus.choices,
        default=SourceStatus.PENDING,
        editable=False,
    )
    error = models.TextField(_("error"), blank=True, editable=False)
    passages = models.PositiveIntegerField(_("passages"), default=0, editable=False)
    # The workers that began with it since it last made a step, the one that works on it now, and
    # until when (`workspace/document_claims.py`).
    attempts = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)
    claim = models.UUIDField(null=True, editable=False)
    leased_until = models.DateTimeField(null=True, editable=False)
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, related_name="+", null=True, editable=False
    )
    created_at = models.DateTimeField(_("added"), default=timezone.now, editable=False)
    updated_at = models.DateTimeField(_("changed"), default=timezone.now, editable=False)
    indexed_at = models.DateTimeField(_("indexed"), null=True, editable=False)

    class Meta:
        verbose_name = _("knowledge source")
        verbose_name_plural = _("knowledge sources")
        indexes = [
            models.Index(fields=("organization", "-created_at", "id"), name="workspace_source_new"),
        ]

    def __str__(self) -> str:
        return self.title or self.url or self.id


class PageState(models.TextChoices):
    WAITING = "waiting", _("Waiting")
    READ = "read", _("Read")
    FAILED = "failed", _("Could not be read")
    GONE = "gone", _("Gone")


class KnowledgePage(models.Model):
    """A page of a site, while the site is being read. `passages` holds `[title, heading, text]`."""

    id = models.BigAutoField(primary_key=True)
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="+")
    source = models.ForeignKey(KnowledgeSource, models.CASCADE, related_name="pages")
    position = models.PositiveIntegerField()
    url = models.CharField(max_length=2048)
    state = models.CharField(max_length=10, choices=PageState.choices, default=PageState.WAITING)
    size = models.PositiveIntegerField(default=0)
    passages = models.JSONField(default=list)
    error = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=("source", "position"), name="workspace_one_page"),
        ]

    def __str__(self) -> str:
        return self.url


class KnowledgeIndex(models.Model):
    """The version of an organization's passages, which every change of them replaces."""

    organization = models.OneToOneField(
        Organization, models.CASCADE, related_name="+", primary_key=True
    )
    version = models.UUIDField()

    def __str__(self) -> str:
        return str(self.version)


class KnowledgeChunk(models.Model):
    """A passage of a source, numbered from 1 in it.

    `embedding` is a vector of 16-bit floats, made by the embedder that `embedder` names; NULL until
    it has been computed.
    """

    id = models.BigAutoField(primary_key=True)
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="+")
    source = models.ForeignKey(KnowledgeSource, models.CASCADE, related_name="chunks")
    position = models.PositiveIntegerField(_("position"))
    title = models.CharField(_("title"), max_length=300, blank=True)
    heading = models.CharField(_("heading"), max_length=300, blank=True)
    url = models.CharField(_("address"), max_length=2048, blank=True)
    text = models.TextField(_("text"))
    embedding = models.BinaryField(null=True, editable=False)
    embedder = models.CharField(max_length=100, blank=True, editable=False)

    class Meta:
        verbose_name = _("passage")
        verbose_name_plural = _("passages")
        constraints = [
            models.UniqueConstraint(fields=("source", "position"), name="workspace_one_passage"),
        ]

    def __str__(self) -> str:
        return f"{self.title} {self.position}"
