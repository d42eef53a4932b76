"""The pages of projects: the list, one project with its tools, its settings, and the usage."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console import kept_forms
from console.gateway import policy_changes, tool_filter
from console.gateway.access import (
    for_members,
    project_admin_required,
    project_member_required,
    save_form,
)
from console.gateway.tool_filter import ProjectToolFilter
from console.members import people_choice
from foundation import stale_forms
from foundation.stale_forms import ComparedForm, FormValue, ShownValues
from gateway import access, outbound_policy, projects, quota, servers
from gateway.models import Authentication, Project, ProjectTool
from gateway.outbound_policy import InvalidTargetUrl
from gateway.projects import InvalidProject
from gateway.servers import DeclaredServer
from oauth.endpoints import replies
from workspace.administration.access import organizations_administered
from workspace.administration.scoped import events_url
from workspace.models import Organization, User

TOOLS_PER_PAGE: Final = 100
EMPTY: Final = QueryDict()
MAX_URL: Final = 2_000
# The fields of a tool that a form carries for other pages, in their order.
CARRIED: Final = ("enabled", "reads", "reviewed")
SETTINGS: Final = ("name", "target_url", "authentication", "owner")


class SettingsForm(ComparedForm):
    """What an admin may change of a project; `owner` is a member of its organization."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=150)
    target_url = forms.CharField(label=gettext_lazy("Target URL"), max_length=500)
    authentication = forms.ChoiceField(
        label=gettext_lazy("Authentication"), choices=Authentication.choices
    )
    owner = forms.ModelChoiceField(
        User.objects.none(), label=gettext_lazy("Owner"), empty_label=None
    )

    def __init__(self, project: Project, *given: Any, **initial: Any) -> None:
        super().__init__(*given, **initial)
        chosen = [project.owner_id] if project.owner_id else []
        people_choice.offer(self.fields["owner"], project.organization_id, chosen)


class ServersForm(ComparedForm):
    """The servers that operations declare, each with its URL and whether calls go there."""

    def __init__(self, listed: Sequence[DeclaredServer], *given: Any, **more: Any) -> None:
        initial: dict[str, Any] = {}
        for number, one in enumerate(listed):
            initial |= {f"url_{number}": one.url, f"confirmed_{number}": one.is_confirmed}
        declared = {"declared": FormValue(_("Servers"), [one.declared for one in listed])}
        super().__init__(*given, initial=initial, also_shown=declared, **more)
        self.listed = listed
        for number, one in enumerate(listed):
            self.fields[f"url_{number}"] = forms.CharField(
                label=_("URL of %(server)s") % {"server": one.declared}, max_length=MAX_URL
            )
            self.fields[f"confirmed_{number}"] = forms.BooleanField(
                label=_("Send calls and credentials there"), required=False
            )

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean() or {}
        for number, _one in enumerate(self.listed):
            if cleaned.get(f"confirmed_{number}"):
                try:
                    outbound_policy.base_url(str(cleaned.get(f"url_{number}", "")))
                except InvalidTargetUrl as invalid:
                    self.add_error(f"url_{number}", str(invalid))
        return cleaned

    def confirmed_urls(self) -> dict[str, str]:
        """Returns the URLs of the confirmed servers, by what is declared."""
        given = self.cleaned_data
        return {
            one.declared: given[f"url_{number}"]
            for number, one in enumerate(self.listed)
            if given[f"confirmed_{number}"]
        }

    def rows(self) -> list[tuple[DeclaredServer, forms.BoundField, forms.BoundField]]:
        """Returns each server with its fields, for the template."""
        return [
            (one, self[f"url_{number}"], self[f"confirmed_{number}"])
            for number, one in enumerate(self.listed)
        ]


@dataclass(frozen=True, slots=True)
class EnteredSwitches:
    """What a form has for one tool; `reviewed` is the value of a box that was checked."""

    is_enabled: bool
    is_read: bool
    reviewed: str = ""


@require_safe
@for_members
def index(request: HttpRequest, user: User) -> HttpResponse:
    """Lists the projects of the person's organizations."""
    context = {
        "projects": access.projects_of(user),
        "may_create": bool(organizations_administered(user)),
    }
    return render(request, "console/gateway/projects.html", context)


@require_safe
@project_member_required
def project(request: HttpRequest, user: User, project: Project) -> HttpResponse:
    """Shows how to connect to a project, and its tools.

    Switches of tools that were sent after the session had ended are shown as they were entered,
    those of other pages too, and so is the filter.
    """
    kept = kept_forms.find_fields(request, reverse("project_tools", args=[project.pk]))
    sent = QueryDict(urlencode(kept, doseq=True)) if access.may_edit(user, project) else EMPTY
    return _show_project(request, user, project, sent or request.GET, _expand_carried(sent))


def _show_project(
    request: HttpRequest,
    user: User,
    project: Project,
    place: QueryDict,
    sent: QueryDict,
) -> HttpResponse:
    """Shows a page of the tools with what was entered for them, and not saved yet.

    `place` has the number of the page, and the filter.
    """
    present, wanted = project.tools.filter(is_present=True), ProjectToolFilter.parse(place)
    found = tool_filter.apply(present, wanted)
    if "bulk" in sent:
        sent = _switch_all(sent, found.rows, on=sent["bulk"] == "on")
    entered = _entered_switches(sent, project)
    # A form has at most DATA_UPLOAD_MAX_NUMBER_FIELDS fields, and some APIs a thousand tools.
    tools = Paginator(found.rows.order_by("name"), TOOLS_PER_PAGE).get_page(place.get("page"))
    listed = servers.list_of_project(project)
    for tool in tools:
        tool.entered = entered.get(tool.pk) or EnteredSwitches(tool.is_enabled, tool.is_read)  # type: ignore[attr-defined]  # for the template
    on_page = {tool.pk for tool in tools}
    others = {key: one for key, one in entered.items() if key not in on_page}
    context = {
        "project": project,
        "may_edit": access.may_edit(user, project),
        "mcp_url": f"{settings.HALO_PUBLIC_URL}/{project.pk}",
        "tools": tools,
        "servers": listed,
        "unconfirmed": [one for one in listed if not one.is_confirmed],
        "waiting": present.filter(needs_review=True).count(),
        "absent": project.tools.filter(is_present=False).count(),
        "shown_values": _shown_values(project, tools, entered, sent),
        "history_url": events_url(request, subject=project.pk),
        "has_kept": request.method != "POST" and bool(sent),
        "filter": wanted,
        "filtered": found,
        "tool_count": present.count() if wanted.query else tools.paginator.count,
        "is_bulk": "bulk" in sent,
        "changed": len(entered),
        "others": others,
        "carried": _serialize_carried(others),
    }
    return render(request, "console/gateway/project.html", context)


def _shown_values(
    project: Project, tools: Iterable[ProjectTool], entered: Collection[UUID], sent: QueryDict
) -> SafeString:
    """The hidden field of what the page shows; of tools that were changed, what was shown first."""
    shown, at = _switches(tools), timezone.now()
    if entered:
        before = ShownValues.parse(sent.get(stale_forms.FIELD, ""))
        at = before.at or at
        changed = _switches(project.tools.filter(pk__in=entered))
        shown |= {
            # One that no page has shown was switched with all that the filter matches.
            key: replace(each, value=before.values.get(key, each.value))
            for key, each in changed.items()
        }
    return stale_forms.hidden_field(stale_forms.serialize(shown, at))


@require_POST
@project_admin_required
def tools(request: HttpRequest, user: User, project: Project) -> HttpResponse:
    """Saves which tools are enabled, which only read, and which changes were reviewed.

    With `page`, another page of the tools is shown, and with `bulk`, all that the filter matches
    are switched; what was entered waits to be saved.
    """
    if "page" in request.POST or "bulk" in request.POST:
        return _show_project(request, user, project, request.POST, _expand_carried(request.POST))
    page = reverse("project", args=[project.pk])
    return save_form(
        request,
        project,
        page,
        lambda locked: policy_changes.confirm_and_save(
            request, locked, lambda: _save_tools(request, user, locked)
        ),
    )


def _save_tools(request: HttpRequest, user: User, project: Project) -> HttpResponse:
    sent = _expand_carried(request.POST)
    reviewed, among = _reviewed_tools(sent), _ids(sent, "shown")
    enabled, reads = {*_ids(sent, "enabled")}, {*_ids(sent, "reads")}
    rows = project.tools.filter(pk__in=among, is_present=True)
    now = _switches(rows, lambda tool: _state(on=tool.pk in enabled, reads=tool.pk in reads))
    is_saved = stale_forms.compare(request.POST.get(stale_forms.FIELD, ""), now)
    changed = projects.set_tools(
        project,
        enabled=enabled,
        reads=reads,
        reviewed=reviewed,
        among=among,
        by=user,
        address=replies.address_of(request),
    )
    if changed or is_saved:
        messages.success(request, _("Saved. The change takes effect at once."))
    else:
        messages.info(request, _("Nothing changed."))
    for tool in project.tools.filter(pk__in=reviewed, needs_review=True):
        again = _("%(tool)s has changed again since this page was shown. Review it once more.")
        messages.warning(request, again % {"tool": tool.name})
    page, query = reverse("project", args=[project.pk]), ProjectToolFilter.parse(sent).query
    return redirect(f"{page}?{query}" if query else page)


@require_http_methods(["GET", "HEAD", "POST"])
@project_admin_required
def change(request: HttpRequest, user: User, project: Project) -> HttpResponse:
    """Changes the name, target URL, authentication and owner of a project."""
    if request.method != "POST":
        return _settings(request, project, SettingsForm(project, initial=_initial(project)))
    page = reverse("project_settings", args=[project.pk])
    return save_form(request, project, page, lambda locked: _save_settings(request, user, locked))


def _save_settings(request: HttpRequest, user: User, project: Project) -> HttpResponse:
    form = SettingsForm(project, request.POST, initial=_initial(project))
    if form.is_valid():
        try:
            projects.change(project, user, address=replies.address_of(request), **form.cleaned_data)
        except InvalidTargetUrl as invalid:
            form.add_error("target_url", str(invalid))
        except InvalidProject as invalid:
            form.add_error("name", str(invalid))
        else:
            messages.success(request, _("Saved."))
            return redirect("project", project.pk)
    return _settings(request, project, form)


@require_http_methods(["GET", "HEAD", "POST"])
@project_admin_required
def confirm_servers(request: HttpRequest, user: User, project: Project) -> HttpResponse:
    """Shows the servers that operations declare for themselves; POST confirms them."""
    if request.method != "POST":
        return _servers(request, project, ServersForm(servers.list_of_project(project)))
    page = reverse("project_servers", args=[project.pk])
    return save_form(request, project, page, lambda locked: _save_servers(request, user, locked))


def _save_servers(request: HttpRequest, user: User, project: Project) -> HttpResponse:
    form = ServersForm(servers.list_of_project(project), request.POST)
    if not form.is_valid():
        return _servers(request, project, form)
    projects.change(
        project, user, address=replies.address_of(request), servers=form.confirmed_urls()
    )
    messages.success(request, _("Saved. The change takes effect at once."))
    return redirect("project", project.pk)


def _servers(request: HttpRequest, project: Project, form: ServersForm) -> HttpResponse:
    context = {"project": project, "form": form}
    status = 400 if form.is_bound else 200
    return render(request, "console/gateway/servers.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@project_admin_required
def delete(request: HttpRequest, user: User, project: Project) -> HttpResponse:
    """Confirms and deletes a project."""
    if request.method != "POST":
        return render(request, "console/gateway/delete.html", {"project": project})
    projects.delete(project, user, address=replies.address_of(request))
    messages.success(request, _("Project deleted. Requests to its address are refused."))
    return redirect("projects")


@require_safe
@for_members
def usage(request: HttpRequest, user: User) -> HttpResponse:
    """Shows the calls of this month, of each organization of the person."""
    own = Organization.objects.filter(pk__in=sorted(user.active_roles)).order_by("name")
    context = {
        "usages": [(organization, quota.usage(organization.pk)) for organization in own],
        "resets": quota.next_month(),
    }
    return render(request, "console/gateway/usage.html", context)


def _entered_switches(sent: QueryDict, project: Project) -> dict[UUID, EnteredSwitches]:
    """What was entered for the tools of a form, where it differs from what is saved."""
    enabled, reads = {*_ids(sent, "enabled")}, {*_ids(sent, "reads")}
    reviewed = {one: f"{one}:{seen}" for one, seen in _reviewed_tools(sent).items()}
    rows = project.tools.filter(pk__in=_ids(sent, "shown"), is_present=True)
    return {
        tool.pk: EnteredSwitches(tool.pk in enabled, tool.pk in reads, reviewed.get(tool.pk, ""))
        for tool in rows
        if (tool.is_enabled, tool.is_read) != (tool.pk in enabled, tool.pk in reads)
        or tool.pk in reviewed
    }


def _switch_all(sent: QueryDict, tools: Iterable[ProjectTool], *, on: bool) -> QueryDict:
    """Returns what was sent with these tools enabled, or off; their other boxes stay."""
    shown, reads = {*_ids(sent, "shown")}, {*_ids(sent, "reads")}
    rows = [*tools]
    reads |= {tool.pk for tool in rows if tool.is_read and tool.pk not in shown}
    keys, enabled = {tool.pk for tool in rows}, {*_ids(sent, "enabled")}
    whole = sent.copy()
    whole.setlist("shown", [str(key) for key in shown | keys])
    whole.setlist("reads", [str(key) for key in reads])
    whole.setlist("enabled", [str(key) for key in (enabled | keys if on else enabled - keys)])
    return whole


def _serialize_carried(entered: Mapping[UUID, EnteredSwitches]) -> str:
    """What was entered on other pages as one field: a form may have few fields."""
    values = {str(key): [one.is_enabled, one.is_read, one.reviewed] for key, one in entered.items()}
    return json.dumps(values, separators=(",", ":")) if values else ""


def _expand_carried(sent: QueryDict) -> QueryDict:
    """Returns a form with what it carries of other pages as the fields of its own page."""
    try:
        carried = json.loads(sent.get("carried", "") or "{}")
        others = {str(UUID(key)): [*one] for key, one in carried.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return sent
    whole = sent.copy()
    on_page = {*sent.getlist("shown")}
    for key, values in others.items():
        if key in on_page or len(values) != len(CARRIED):
            continue
        whole.appendlist("shown", key)
        for name, value in zip(CARRIED, values, strict=True):
            if value:
                whole.appendlist(name, str(value) if name == "reviewed" else key)
    return whole


def _initial(project: Project) -> dict[str, Any]:
    return {name: getattr(project, name) for name in SETTINGS}


def _switches(
    tools: Iterable[ProjectTool], sent: Callable[[ProjectTool], str] = lambda _tool: ""
) -> dict[str, FormValue]:
    """What the page shows of the switches of tools, and what was sent for each."""
    return {str(tool.pk): FormValue(tool.name, _state_of(tool), sent=sent(tool)) for tool in tools}


def _state_of(tool: ProjectTool) -> str:
    state = _state(on=tool.is_enabled, reads=tool.is_read)
    return f"{state}, {_('changed')}" if tool.needs_review else state


def _state(*, on: bool, reads: bool) -> str:
    state = _("enabled") if on else _("off")
    return f"{state}, {_('only reads')}" if reads else state


def _settings(request: HttpRequest, project: Project, form: SettingsForm) -> HttpResponse:
    context = {"project": project, "form": form}
    status = 400 if form.is_bound else 200
    return render(request, "console/gateway/settings.html", context, status=status)


def _reviewed_tools(sent: QueryDict) -> dict[UUID, str]:
    """The ids of the tools that were reviewed, each with the fingerprint of what was shown."""
    pairs = [value.partition(":") for value in sent.getlist("reviewed")]
    return {one: seen for text, _colon, seen in pairs for one in _uuids([text])}


def _ids(sent: QueryDict, name: str) -> list[UUID]:
    """The keys of rows in a form; text that is no key names no row."""
    return _uuids(sent.getlist(name))


def _uuids(texts: Iterable[str]) -> list[UUID]:
    found = []
    for text in texts:
        try:
            found.append(UUID(text))
        except ValueError:
            continue
    return found
