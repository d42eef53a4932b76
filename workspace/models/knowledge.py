"""The knowledge base: where its text comes from, and the passages that are searched."""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from foundation import ids
from foundation.text.columns import SearchTextField
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
    EXCLUDED = "excluded", _("Not indexed")


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
    file_name = models.CharField(_("file"), max_length=255, default="", db_default="", blank=True)
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
    # The revision of the readers that made the passages (`knowledge/indexing.py`).
    reader = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)
    claim = models.UUIDField(null=True, editable=False)
    leased_until = models.DateTimeField(null=True, editable=False)
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, related_name="+", null=True, editable=False
    )
    created_at = models.DateTimeField(_("added"), default=timezone.now, editable=False)
    updated_at = models.DateTimeField(_("changed"), default=timezone.now, editable=False)
    indexed_at = models.DateTimeField(_("indexed"), null=True, editable=False)
    # When the pages of the run under way were listed; NULL while none is under way.
    listed_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        verbose_name = _("knowledge source")
        verbose_name_plural = _("knowledge sources")
        indexes = [
            models.Index(fields=("organization", "-created_at", "id"), name="workspace_source_new"),
        ]

    def __str__(self) -> str:
        return self.title or self.file_name or self.url or self.id


class PageState(models.TextChoices):
    WAITING = "waiting", _("Waiting")
    READ = "read", _("Read")
    UNCHANGED = "unchanged", _("Unchanged")
    KEPT = "kept", _("Kept after a failure")
    FAILED = "failed", _("Could not be read")
    COPY = "copy", _("Copy of another page")
    EXCLUDED = "excluded", _("Not indexed")
    GONE = "gone", _("Gone")


class KnowledgePage(models.Model):
    """A page of a site or a web page, or the document of a file; what was read of it and when.

    `url` is the address that was listed, `final_url` the one after redirects, and `address` the one
    that answers cite: the canonical one, if the page names one. `passages` holds
    `[title, heading, text]` of the page by itself, before what it shares with others is left out;
    `passage_count` counts those that are searched. `error` is the reason of the state. `tried_at`
    is when the page was last requested, `read_at` when its text was last confirmed: NULL if there
    is none. `modified_at` is what the server, the sitemap or the document says. The other columns
    tell whether a page has changed: `etag` and `last_modified` as the server sent them, `lastmod`
    as the sitemap did, and the `digest` of the content.
    """

    id = models.BigAutoField(primary_key=True)
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="+")
    source = models.ForeignKey(KnowledgeSource, models.CASCADE, related_name="pages")
    position = models.PositiveIntegerField()
    url = models.CharField(_("address in the list"), max_length=2048)
    final_url = models.CharField(max_length=2048, default="", db_default="", blank=True)
    address = models.CharField(_("address"), max_length=2048, default="", db_default="", blank=True)
    title = models.CharField(_("title"), max_length=300, default="", db_default="", blank=True)
    state = models.CharField(
        _("state"), max_length=10, choices=PageState.choices, default=PageState.WAITING
    )
    error = models.TextField(_("reason"), blank=True)
    size = models.PositiveIntegerField(_("bytes"), default=0)
    passages = models.JSONField(default=list)
    passage_count = models.PositiveIntegerField(_("passages"), default=0, db_default=0)
    tried_at = models.DateTimeField(_("last tried"), null=True)
    read_at = models.DateTimeField(_("read"), null=True)
    modified_at = models.DateTimeField(_("changed by its author"), null=True)
    etag = models.CharField(max_length=300, default="", db_default="", blank=True)
    last_modified = models.CharField(max_length=100, default="", db_default="", blank=True)
    lastmod = models.CharField(max_length=100, default="", db_default="", blank=True)
    digest = models.CharField(max_length=80, default="", db_default="", blank=True)

    class Meta:
        verbose_name = _("page")
        verbose_name_plural = _("pages")
        constraints = [
            models.UniqueConstraint(fields=("source", "position"), name="workspace_one_page"),
        ]

    def __str__(self) -> str:
        return self.address or self.url


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

    `heading` has the headings above the text, the outermost first (`Plans > Enterprise > Support`).
    `embedding` is a vector of 16-bit floats, made by the embedder that `embedder` names; NULL until
    it has been computed. `search_text` has the words that it is found by.
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
    search_text = SearchTextField(sources=("title", "heading", "text"))

    class Meta:
        verbose_name = _("passage")
        verbose_name_plural = _("passages")
        constraints = [
            models.UniqueConstraint(fields=("source", "position"), name="workspace_one_passage"),
        ]
        indexes = [
            # The rows whose words are to be computed: none, most of the time.
            models.Index(
                fields=("id",),
                name="workspace_chunk_unfilled",
                condition=models.Q(search_text=None),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.title} {self.position}"
