"""Importing an OpenAPI document: what it comes to is shown before anything is saved."""

import re
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from typing import Any, Final, cast
from urllib.parse import urlsplit
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from console import organization_choice
from console.gateway.access import for_members, refuse_stale
from console.organization_choice import OrganizationField
from foundation import stale_forms
from foundation.concurrency.job_threads import NoJobThread
from foundation.stale_forms import FormValue
from gateway import access, importing, policies, projects, servers
from gateway.importing import AnotherIsRead, UnusableDocument
from gateway.models import Authentication, ImportDraft, Project
from gateway.openapi import names
from gateway.openapi.shapes import Import, OpenApiOperation
from gateway.outbound_policy import InvalidTargetUrl
from gateway.projects import InvalidProject
from oauth.endpoints import replies
from workspace import page_jobs
from workspace.administration.access import organizations_administered
from workspace.models import User
from workspace.page_jobs import JobFailed, JobResult

DRAFT_LIFETIME: Final = timedelta(days=1)
# Drafts hold whole documents: one person keeps few of them.
MAX_DRAFTS: Final = 5
PATTERN: Final = re.compile(r"[A-Za-z0-9_.*-]{1,100}")
# Clients and models cope badly with more tools than that.
MANY_TOOLS: Final = 128
# Of each list of a preview: a document may have thousands of operations.
MAX_LISTED: Final = 500
# A single tag is no choice.
MIN_TAGS: Final = 2


class DocumentForm(forms.Form):
    """A document as it is pasted, uploaded or named by its URL: exactly one of them."""

    organization = OrganizationField()
    project = forms.CharField(required=False, widget=forms.HiddenInput)
    url = forms.CharField(label=gettext_lazy("URL"), required=False, max_length=500)
    upload = forms.FileField(label=gettext_lazy("File"), required=False, allow_empty_file=True)
    text = forms.CharField(label=gettext_lazy("Text"), required=False, strip=False)

    def __init__(self, user: User, project: Project | None, *given: Any, **initial: Any) -> None:
        super().__init__(*given, **initial)
        if project is None:
            organization_choice.offer(self, organizations_administered(user))
        else:
            del self.fields["organization"]

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        sources = [name for name in ("url", "upload", "text") if given.get(name)]
        if not sources and not self.errors:
            self.add_error(None, _("Enter a URL, choose a file or paste the document."))
        elif len(sources) > 1:
            names = ", ".join(str(self.fields[name].label) for name in sources)
            text = _("You gave the document in several ways: %(names)s. Leave all but one empty.")
            self.add_error(None, text % {"names": names})
        return given

    def document(self) -> str:
        """Returns the text of a document that is not named by its URL. Raises UnusableDocument."""
        given = self.cleaned_data
        if given["upload"]:
            return importing.decode_document(given["upload"].read())
        return str(given["text"])


class NewProjectForm(forms.Form):
    """What an admin confirms before a project is saved."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=150)
    target_url = forms.CharField(label=gettext_lazy("Target URL"), max_length=500)
    authentication = forms.ChoiceField(
        label=gettext_lazy("Authentication"), choices=Authentication.choices
    )
    policy = forms.ChoiceField(
        label=gettext_lazy("Policy"),
        choices=[
            ("default", gettext_lazy("Reads run at once, everything else requires approval")),
            ("allow", gettext_lazy("Everything runs at once")),
        ],
    )
    # Shown where nobody but the person who imports could approve.
    self_approval = forms.BooleanField(
        label=gettext_lazy("Requesters may approve their own requests"), required=False
    )
    reads = forms.CharField(
        label=gettext_lazy("Tools that only read"), required=False, max_length=2_000
    )
    # Shown where the document has several tags: with none of them chosen, every tool is off.
    tags = forms.MultipleChoiceField(label=gettext_lazy("Tags"), required=False)

    def __init__(self, imported: Import, *given: Any, **initial: Any) -> None:
        super().__init__(*given, **initial)
        counts = _count_tags(imported)
        if MIN_TAGS <= len(counts) <= MAX_LISTED:
            self.fields["tags"].choices = [  # type: ignore[attr-defined]  # a MultipleChoiceField
                (tag, f"{tag or _('Without a tag')} ({count})") for tag, count in counts.items()
            ]
            self.initial["tags"] = [*counts]
        else:
            del self.fields["tags"]

    def clean_reads(self) -> list[str]:
        patterns = str(self.cleaned_data["reads"]).replace(",", " ").split()
        for pattern in patterns:
            if not PATTERN.fullmatch(pattern):
                raise forms.ValidationError(
                    _("%(pattern)s is not a pattern of tool names."), params={"pattern": pattern}
                )
        return patterns


def _count_tags(imported: Import) -> dict[str, int]:
    """How many tools have each tag, in their order; those without one are the last."""
    counts = Counter(tag for one in imported.operations for tag in one.tags or ("",))
    return {tag: counts[tag] for tag in sorted(counts, key=lambda tag: (not tag, tag.casefold()))}


@dataclass(frozen=True, slots=True)
class ListedOperation:
    """One operation as the preview shows it."""

    operation: OpenApiOperation
    only_reads: bool

    @property
    def is_destructive(self) -> bool:
        """Whether the list marks it as destructive."""
        one = self.operation
        return names.is_destructive(one.method, one.name, is_read=self.only_reads)


@require_http_methods(["GET", "HEAD", "POST"])
@for_members
def new(request: HttpRequest, user: User) -> HttpResponse:
    """Takes a document, for a new project or for the one that `?project=` names."""
    if not organizations_administered(user):
        raise Http404
    if request.method != "POST":
        project = _project(user, request.GET.get("project", ""))
        return _ask(request, DocumentForm(user, project, initial=_initial(project)), project)
    project = _project(user, request.POST.get("project", ""))
    form = DocumentForm(user, project, request.POST, request.FILES)
    if not form.is_valid():
        return _ask(request, form, project, HTTPStatus.BAD_REQUEST)
    organization = project.organization if project else form.cleaned_data["organization"]
    url = form.cleaned_data["url"]
    draft = ImportDraft(
        organization=organization,
        project=project,
        user=user,
        fields={"document_url": importing.url_to_keep(url)},
    )
    try:
        text = None if url else form.document()
        read = partial(_read, draft, url, text)
        title, back = _("Import a document"), _address_of_form(project)
        job = page_jobs.start(user, organization.pk, title, read, back=back)
    except UnusableDocument as unusable:
        form.add_error(None, str(unusable))
        return _ask(request, form, project, HTTPStatus.BAD_REQUEST)
    except NoJobThread as busy:
        form.add_error(None, str(busy))
        return _ask(request, form, project, HTTPStatus.TOO_MANY_REQUESTS)
    return redirect("page_job", job.pk)


@require_http_methods(["GET", "HEAD", "POST"])
@for_members
def preview(request: HttpRequest, user: User, draft_id: UUID) -> HttpResponse:
    """Shows what a document comes to; POST saves it."""
    draft = _draft(user, draft_id)
    try:
        with importing.hold_page(user.pk, frozenset({draft.organization_id})):
            if draft.project is not None:
                return _preview_of_change(request, user, draft, draft.project)
            return _preview_of_new(request, user, draft)
    except UnusableDocument as unusable:
        return _ask_again(request, user, draft, str(unusable), HTTPStatus.BAD_REQUEST)
    except AnotherIsRead as busy:
        return _ask_again(request, user, draft, str(busy), HTTPStatus.TOO_MANY_REQUESTS)


@require_POST
@for_members
def discard(_request: HttpRequest, user: User, draft_id: UUID) -> HttpResponse:
    """Forgets a document that was not saved."""
    draft = _draft(user, draft_id)
    project = draft.project
    _forget(draft)
    return redirect("project", project.pk) if project else redirect("projects")


def _preview_of_new(request: HttpRequest, user: User, draft: ImportDraft) -> HttpResponse:
    imported = projects.read_draft(draft)
    if request.method != "POST":
        return _preview(
            request, draft, NewProjectForm(imported, initial=_initial_values(imported)), imported
        )
    form = NewProjectForm(imported, request.POST)
    if form.is_valid():
        try:
            created = projects.create(
                draft.organization,
                document_text=draft.text,
                imported=imported,
                document_url=draft.fields["document_url"],
                owner=user,
                address=replies.address_of(request),
                **form.cleaned_data,
            )
        except InvalidTargetUrl as invalid:
            form.add_error("target_url", str(invalid))
        except InvalidProject as invalid:
            form.add_error("name", str(invalid))
        else:
            _forget(draft)
            messages.success(request, _("Project created."))
            return redirect("project", created.project.pk)
    return _preview(request, draft, form, imported)


def _import(request: HttpRequest, user: User, draft: ImportDraft, project: Project) -> HttpResponse:
    """Imports a document, unless the difference that was shown is to another version."""
    shown, address = request.POST.get(stale_forms.FIELD, ""), replies.address_of(request)
    made = projects.reimport(
        project,
        draft.text,
        user,
        address=address,
        draft=draft,
        require=partial(_require_shown, shown),
    )
    if draft.fields["document_url"]:
        url = draft.fields["document_url"]
        projects.change(project, user, address=address, document_url=url)
    _forget(draft)
    waiting = sum(one.change == "changed" for one in made.changes)
    messages.success(request, _("Document imported."))
    if waiting:
        messages.warning(request, _("Review the tools that changed: they cannot be called."))
    return redirect("project", project.pk)


def _require_shown(shown: str, project: Project) -> None:
    stale_forms.compare(shown, _compared_values(project))


def _compared_values(project: Project) -> dict[str, FormValue]:
    """What the difference of an import is a difference to."""
    return {"version": FormValue(_("Version of the project"), str(project.version))}


def _preview_of_change(
    request: HttpRequest, user: User, draft: ImportDraft, project: Project
) -> HttpResponse:
    if request.method == "POST":
        page = reverse("project_import", args=[draft.pk])
        return refuse_stale(request, project, page, lambda: _import(request, user, draft, project))
    difference = projects.difference(project, draft.text, draft)
    shown = stale_forms.hidden_field(stale_forms.serialize(_compared_values(project)))
    context = {
        "draft": draft,
        "project": project,
        "difference": difference,
        "changes": difference.changes[:MAX_LISTED],
        "more_changes": max(0, len(difference.changes) - MAX_LISTED),
        "shown_values": shown,
    }
    return render(
        request, "console/gateway/difference.html", context | _facts(difference.imported, project)
    )


def _preview(
    request: HttpRequest, draft: ImportDraft, form: NewProjectForm, imported: Import
) -> HttpResponse:
    patterns = form.cleaned_data.get("reads", ()) if form.is_bound else ()
    context = {
        "draft": draft,
        "form": form,
        "is_only_decider": policies.is_only_decider(draft.user, draft.organization_id),
        "operations": [
            ListedOperation(operation, projects.is_read(operation, patterns))
            for operation in imported.operations[:MAX_LISTED]
        ],
        "more_operations": max(0, len(imported.operations) - MAX_LISTED),
    }
    status = HTTPStatus.BAD_REQUEST if form.is_bound else HTTPStatus.OK
    return render(
        request, "console/gateway/preview.html", context | _facts(imported), status=status
    )


def _facts(imported: Import, project: Project | None = None) -> dict[str, Any]:
    """What both previews say of a document; without a project, its first server is the target."""
    count = len(imported.operations)
    target = project.target_url if project else _initial_values(imported)["target_url"]
    confirmed = servers.read(project.servers) if project else {}
    own = [(one.name, one) for one in imported.operations if one.server]
    listed = servers.list_of(own, target, confirmed)
    return {
        "own_servers": [one for one in listed if not one.is_confirmed][:MAX_LISTED],
        "imported": imported,
        "servers": imported.servers[:MAX_LISTED],
        "unmapped": imported.unmapped[:MAX_LISTED],
        "more_unmapped": max(0, len(imported.unmapped) - MAX_LISTED),
        "count": count,
        "tokens": importing.tokens(imported),
        "is_many": count > MANY_TOOLS,
        "first_page": importing.tools_on_first_page(imported),
    }


def _initial_values(imported: Import) -> dict[str, Any]:
    """What the form of a new project holds at first."""
    targets = [url for url in imported.servers if _is_absolute(url)]
    return {
        "name": imported.title[:150],
        "target_url": targets[0] if targets else "",
        "authentication": projects.suggested_authentication(imported),
        "policy": "default",
        "reads": "",
    }


def _is_absolute(url: str) -> bool:
    # A server may be relative or have variables (OpenAPI 3.1, Server Object).
    try:
        return bool(urlsplit(url).netloc) and "{" not in url
    except ValueError:
        return False


def _read(draft: ImportDraft, url: str, text: str | None) -> JobResult:
    """Saves a draft of a text, else of what is fetched. Raises JobFailed."""
    try:
        found = importing.fetch_document(url) if text is None else text
        read = importing.read(found, draft.organization_id)
    except UnusableDocument as unusable:
        raise JobFailed(str(unusable)) from None
    draft.text = read.text
    projects.keep_import(draft, read.imported)
    draft.save(force_insert=True)
    _forget_others(draft)
    return JobResult(_("The document was read."), reverse("project_import", args=[draft.pk]))


def _address_of_form(project: Project | None) -> str:
    """The path of the form on which a document is entered."""
    return reverse("project_new") + (f"?project={project.pk}" if project else "")


def _initial(project: Project | None) -> dict[str, Any]:
    if project is None:
        return {}
    # One that an earlier version of this server has kept may have a query.
    return {"project": project.pk, "url": importing.url_to_keep(project.document_url)}


def _ask(
    request: HttpRequest,
    form: DocumentForm,
    project: Project | None,
    status: HTTPStatus = HTTPStatus.OK,
) -> HttpResponse:
    user = cast("User", request.user)
    latest = page_jobs.latest(user, _address_of_form(project))
    context = {"form": form, "project": project, "job": latest}
    return render(request, "console/gateway/new.html", context, status=status)


def _ask_again(
    request: HttpRequest, user: User, draft: ImportDraft, problem: str, status: HTTPStatus
) -> HttpResponse:
    """Says why a draft is not shown, on the form that it was entered on; it is kept."""
    messages.error(request, problem)
    form = DocumentForm(user, draft.project, initial=_initial(draft.project))
    return _ask(request, form, draft.project, status)


def _project(user: User, project_id: str) -> Project | None:
    """The project that a document is imported into, None for a new one. Raises Http404."""
    if not project_id:
        return None
    try:
        return access.editable_project_for(user, project_id)
    except Project.DoesNotExist:
        raise Http404 from None


def _draft(user: User, draft_id: UUID) -> ImportDraft:
    draft = access.drafts_of(user).filter(pk=draft_id).first()
    if draft is None:
        raise Http404
    return draft


def _forget(draft: ImportDraft) -> None:
    page_jobs.forget(reverse("project_import", args=[draft.pk]))
    draft.delete()


def _forget_others(draft: ImportDraft) -> None:
    ImportDraft.objects.filter(created_at__lt=timezone.now() - DRAFT_LIFETIME).delete()
    mine = ImportDraft.objects.filter(user=draft.user).order_by("-created_at")
    kept = list(mine.values_list("pk", flat=True)[:MAX_DRAFTS])
    mine.exclude(pk__in=kept).delete()
