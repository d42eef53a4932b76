"""The page on which an admin connects an integration, checks the connection and disconnects it.

The credential is write-only: no page, history, log or error contains it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from audit import record
from foundation import admin_urls
from foundation.concurrency.job_threads import NoJobThread
from foundation.stale_forms import StaleForm
from oauth.endpoints import replies
from tools_registry import registry
from tools_registry.admin.access import VIEW_SWITCHES, organization_or_404
from tools_registry.admin.connection_form import ConnectForm
from tools_registry.api import ToolFailure, VendorConnection
from tools_registry.models import ConnectionState, IntegrationMode
from tools_registry.vendors import connecting, connection_status, credentials
from workspace import page_jobs
from workspace.administration.access import reach
from workspace.administration.stale import ComparedAdmin, lock_row
from workspace.models import Organization, User
from workspace.page_jobs import JobFailed, JobResult

CHANGE_MODE: Final = "tools_registry.change_integrationmode"
URL_NAME: Final = "tools_registry_integrationmode_connect"
TEMPLATE: Final = "admin/tools_registry/integrationmode/connect.html"


@dataclass(frozen=True, slots=True)
class ConnectionTarget:
    """Whose connection to what the page is about."""

    mode: IntegrationMode
    connection: VendorConnection
    title: str

    @property
    def is_kept(self) -> bool:
        return connecting.has_credential(self.mode)

    @property
    def is_unreadable(self) -> bool:
        unreadable = credentials.find_unreadable(self.mode.organization_id)
        return self.mode.integration in unreadable

    @property
    def state(self) -> Any:
        state = ConnectionState(self.mode.connection)
        return connection_status.UNREADABLE if self.is_unreadable else state.label

    def form(self, data: Any = None) -> ConnectForm:
        is_kept = self.is_kept and not self.is_unreadable
        return ConnectForm(
            self.connection,
            kept=self.mode.settings,
            credential_is_kept=is_kept,
            had_account=self.is_kept or bool(self.mode.account),
            data=data,
        )

    @property
    def url(self) -> str:
        return admin_urls.page_url(URL_NAME, self.mode.organization_id, self.mode.integration)

    @property
    def switches_url(self) -> str:
        """Where its actions are turned on, which is what comes next."""
        return admin_urls.page_url("tools_registry_switchboard", self.mode.organization_id)


class ConnectionPages(ComparedAdmin):
    """Adds the page to the admin of `IntegrationMode`; it works before there is a row."""

    change_form_template: ClassVar[str] = "admin/tools_registry/integrationmode/change_form.html"

    def get_urls(self) -> list[URLPattern]:
        page = path(
            "<uuid:organization_id>/<str:integration>/connect/",
            self.admin_site.admin_view(self.connect_view),
            name=URL_NAME,
        )
        return [page, *super().get_urls()]

    @method_decorator(sensitive_post_parameters())
    @method_decorator(never_cache)
    @method_decorator(require_http_methods(["GET", "HEAD", "POST"]))
    def connect_view(
        self, request: HttpRequest, organization_id: UUID, integration: str
    ) -> HttpResponse:
        organization = organization_or_404(request, organization_id, CHANGE_MODE)
        place = _place(organization, unquote(integration))
        if request.method != "POST":
            return self._page(request, place, place.form())
        act = ACTS.get(request.POST.get("act", ""))
        if act is None:
            raise Http404
        return act(self, request, place)

    def save_connection(self, request: HttpRequest, place: ConnectionTarget) -> HttpResponse:
        """Start to ask the vendor about what was filled in; a first connection is kept before."""
        # What cannot be put on record does not happen; the vendor is asked behind the transaction.
        try:
            with transaction.atomic():
                lock_row(place.mode.organization)
                place = _place(place.mode.organization, place.mode.integration)
                form = place.form(request.POST)
                if not form.is_valid():
                    return self._page(request, place, form)
                said = "Credential and settings set." if form.secret else "Settings set."
                kind = "integration_set_up"
                set_up = partial(self._put_on_record, request, kind=kind, said=said)
                allowed = form.allows_other_account
                new = connecting.prepare_replacement(
                    place.mode, form.secret, form.settings, allows_other_account=allowed
                )
                if new is not None:
                    check = partial(_replace, place.title, place.mode, new, set_up)
                else:
                    mode = connecting.keep_first(place.mode, form.secret, form.settings)
                    set_up(mode)
                    check = partial(_check, place.title, mode, allows_other_account=allowed)
        except StaleForm as stale:
            return self._stale_page(request, place.mode, stale)
        return self._start_check(request, place, check)

    def check_connection(self, request: HttpRequest, place: ConnectionTarget) -> HttpResponse:
        if not place.is_kept:
            messages.error(request, _("No credential is saved."))
            return HttpResponseRedirect(place.url)
        return self._start_check(request, place, partial(_check, place.title, place.mode))

    def end_connection(self, request: HttpRequest, place: ConnectionTarget) -> HttpResponse:
        if place.is_kept or place.mode.connection != ConnectionState.NOT_CONNECTED:
            with transaction.atomic():
                connecting.disconnect(place.mode)
                kind = "integration_disconnected"
                self._put_on_record(request, place.mode, kind, "Disconnected.")
            text = _("Disconnected %(name)s. The credential was deleted.")
            messages.success(request, text % {"name": place.title})
        return HttpResponseRedirect(place.url)

    def _start_check(
        self, request: HttpRequest, place: ConnectionTarget, check: Callable[[], JobResult]
    ) -> HttpResponse:
        title = _("Check of the connection to %(name)s") % {"name": place.title}
        user, organization = cast("User", request.user), place.mode.organization_id
        try:
            job = page_jobs.start(user, organization, title, check, back=place.url)
        except NoJobThread as busy:
            text = _("The connection was not checked. %(why)s")
            messages.error(request, text % {"why": busy})
            return HttpResponseRedirect(place.url)
        return redirect("page_job", job.pk)

    def _page(
        self, request: HttpRequest, place: ConnectionTarget, form: ConnectForm
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": _("Connect %(name)s") % {"name": place.title},
            "subtitle": str(place.mode.organization),
            "form": form,
            "mode": place.mode,
            "integration": place.title,
            "is_kept": place.is_kept,
            "state": ConnectionState(place.mode.connection),
            "state_label": place.state,
            "missing": place.mode.missing.splitlines(),
            "switches": place.switches_url if reach(request.user, *VIEW_SWITCHES) else "",
        }
        return TemplateResponse(request, TEMPLATE, context)

    def _put_on_record(
        self, request: HttpRequest, mode: IntegrationMode, kind: str, said: str
    ) -> None:
        self.log_change(request, mode, said)
        record.security_event(
            kind,
            address=replies.address_of(request),
            subject=str(mode.pk),
            organization_id=str(mode.organization_id),
            user_id=str(request.user.pk),
            detail=f"{mode.integration}: {said}",
        )


ACTS: Final[dict[str, Callable[[ConnectionPages, HttpRequest, ConnectionTarget], HttpResponse]]] = {
    "connect": ConnectionPages.save_connection,
    "check": ConnectionPages.check_connection,
    "disconnect": ConnectionPages.end_connection,
}


def _check(name: str, mode: IntegrationMode, *, allows_other_account: bool = False) -> JobResult:
    """Asks the vendor about a connection. Raises JobFailed."""
    try:
        said = connecting.check(mode, allows_other_account=allows_other_account)
    except ToolFailure as failure:
        text = _("Could not connect to %(name)s with this credential: %(why)s")
        why = connection_status.short(failure.message)
        raise JobFailed(text % {"name": name, "why": why}) from None
    return JobResult(
        _("%(name)s is connected: %(said)s.") % {"name": name, "said": said.rstrip(".")}
    )


def _replace(
    name: str,
    mode: IntegrationMode,
    new: connecting.Replacement,
    set_up: Callable[[IntegrationMode], None],
) -> JobResult:
    """Replaces a connection that the vendor takes. Raises JobFailed."""
    try:
        before, said = connecting.replace_connection(mode, new, set_up)
    except ToolFailure as failure:
        text = _("%(name)s was not changed, because the check failed: %(why)s")
        why = connection_status.short(failure.message)
        raise JobFailed(text % {"name": name, "why": why}) from None
    text = _("%(name)s is connected: %(said)s.") % {"name": name, "said": said.rstrip(".")}
    if before and before != said:
        earlier = _("The credential before was connected to: %(before)s.")
        text = f"{text} {earlier % {'before': before.rstrip('.')}}"
    return JobResult(text)


def _place(organization: Organization, integration: str) -> ConnectionTarget:
    connection = registry.connection(integration)
    if connection is None:
        raise Http404
    mode = connecting.mode_of(organization, integration)
    return ConnectionTarget(mode, connection, registry.title(integration))
