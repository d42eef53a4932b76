"""The admin pages of the knowledge base: its sources with their pages, and how they are added."""

from typing import Any, Final, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.db.models import Case, Count, QuerySet, Value, When
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

import knowledge
from knowledge import UnusableSource, sources
from workspace.administration.scoped import ScopedAdmin
from workspace.models import KnowledgePage, KnowledgeSource, PageState, SourceKind, User

GIVEN: Final = ("organization", "title", "file", "url", "is_sitemap")
SHOWN: Final = (
    "id",
    "organization",
    "title",
    "kind",
    "file_name",
    "url",
    "status",
    "error",
    "passages",
    "added_by",
    "created_at",
    "indexed_at",
)
# Of the pages of a source, so many are on its page; HALO_SITEMAP_PAGES is 200 unless it is changed.
MAX_LISTED_PAGES: Final = 500
ATTENTION_FIRST: Final = (
    *(PageState.KEPT, PageState.FAILED, PageState.GONE, PageState.EXCLUDED, PageState.COPY),
    PageState.WAITING,
)
ACCEPTED: Final = ",".join(sources.KINDS)


class NewSourceForm(forms.ModelForm):  # type: ignore[type-arg]
    """A file, or the address of a page or a sitemap; a file may have an address to cite."""

    file = forms.FileField(
        label=_("File"),
        required=False,
        max_length=255,
        widget=forms.FileInput(attrs={"accept": ACCEPTED}),
        help_text=_("Markdown, HTML, PDF or Word, at most %(megabytes)s MB.")
        % {"megabytes": sources.MAX_BYTES // 1_048_576},
    )
    is_sitemap = forms.BooleanField(
        label=_("Sitemap"),
        required=False,
        help_text=_("The address is a sitemap: add the pages that it lists."),
    )

    class Meta:
        model = KnowledgeSource
        fields = ("organization", "title", "url")

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        file, url = given.get("file"), given.get("url", "")
        if self.errors:
            return given
        if not file and not url:
            raise forms.ValidationError(_("Choose a file or enter an address."))
        try:
            given["kind"] = sources.kind_of(file.name) if file else _url_source_kind(given)
            given["original"] = file.read(sources.MAX_BYTES + 1) if file else None
            sources.check(given["kind"], url, given["original"])
        except UnusableSource as unusable:
            is_address = isinstance(unusable, sources.UnusableAddress)
            self.add_error("url" if is_address or not file else "file", str(unusable))
        return given


class KnowledgeSourceAdmin(ScopedAdmin):
    organization_lookup = "organization"
    list_display = ("__str__", "organization", "kind", "status", "passages", "error", "indexed_at")
    list_filter = ("status", "kind", "organization")
    list_select_related = ("organization",)
    search_fields = ("=id", "title", "file_name", "url")
    ordering = ("-created_at", "id")
    actions = ("index_again",)
    show_full_result_count = False
    deferred = ("original",)
    change_form_template = "admin/workspace/knowledgesource/change_form.html"

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        source = self.get_queryset(request).filter(pk=unquote(object_id)).first()
        shown = _list_pages(source) if source else {}
        return super().change_view(request, object_id, form_url, {**shown, **(extra_context or {})})

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002
        return GIVEN if obj is None else SHOWN

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002
        return () if obj is None else tuple(name for name in SHOWN if name != "title")

    def get_form(
        self,
        request: HttpRequest,
        obj: Any = None,
        change: bool = False,  # noqa: FBT001, FBT002  Django's signature
        **kwargs: Any,
    ) -> Any:
        form = {"form": NewSourceForm} if obj is None else {}
        return super().get_form(request, obj, change, **form, **kwargs)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        if change:
            KnowledgeSource.objects.filter(pk=obj.pk).update(title=obj.title)
            knowledge.request_index(obj)
            return
        given = form.cleaned_data
        added = knowledge.add(
            given["organization"],
            kind=given["kind"],
            title=given["title"],
            url=given["url"],
            original=given["original"],
            file_name=given["file"].name if given.get("file") else "",
            added_by=cast("User", request.user),
        )
        obj.pk, obj.title = added.pk, added.title

    def delete_model(self, request: HttpRequest, obj: Any) -> None:  # noqa: ARG002
        knowledge.remove(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:  # noqa: ARG002
        for source in queryset:
            knowledge.remove(source)

    @admin.action(description=_("Index again"), permissions=["change"])
    def index_again(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        chosen = list(self.limit_rows(request, queryset, "change"))
        for source in chosen:
            knowledge.request_index(source)
        messages.success(
            request, _("%(count)s sources wait to be indexed.") % {"count": len(chosen)}
        )


def _list_pages(source: KnowledgeSource) -> dict[str, Any]:
    """Returns the pages of a source for its template: first those that something is wrong with."""
    rows = KnowledgePage.objects.filter(source=source)
    counts = dict(rows.order_by().values_list("state").annotate(Count("pk")))
    order = Case(
        *(When(state=state, then=Value(place)) for place, state in enumerate(ATTENTION_FIRST)),
        default=Value(len(ATTENTION_FIRST)),
    )
    listed = rows.defer("passages").order_by(order, "position")[:MAX_LISTED_PAGES]
    return {
        "pages": [_page_facts(page) for page in listed],
        "page_counts": [
            (state.label, counts[state.value]) for state in PageState if state.value in counts
        ],
        "more_pages": max(0, sum(counts.values()) - MAX_LISTED_PAGES),
    }


def _page_facts(page: KnowledgePage) -> dict[str, Any]:
    address = page.address or page.url
    return {
        "name": address or _("The file"),
        "target": address,
        "title": page.title,
        "state": page.get_state_display(),
        "reason": page.error,
        "passages": page.passage_count,
        "times": (page.read_at, page.tried_at, page.modified_at),
    }


def _url_source_kind(given: dict[str, Any]) -> SourceKind:
    return SourceKind.SITEMAP if given.get("is_sitemap") else SourceKind.URL
