"""The export and the erasure of a customer in the admin, for those who may delete customers."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase, StreamingHttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_http_methods

from customers.privacy import erasure, export, subject
from customers.privacy.erasure import PrivacyActor
from customers.privacy.subject import Subject, UnknownCustomer
from customers.privacy.tables import TABLES
from foundation import admin_urls, peer
from foundation.db import storable
from foundation.db.time_limit import TimeLimitExceeded, time_limit
from workspace.administration.scoped import ScopedAdmin
from workspace.models import Customer

PAGE: Final = "admin/workspace/customer/erase.html"
# A person waits for the page, and texts have no index for what they contain.
COUNT_SECONDS: Final = 5


class PrivacyAdmin(ScopedAdmin):
    """Adds “Export data” and “Erase” to the page of a customer."""

    shown = Q(erased_at__isnull=True)

    def get_urls(self) -> list[URLPattern]:
        views = (
            ("export", require_GET(self.export_view)),
            ("erase", _get_or_post(self.erase_view)),
        )
        ours = [
            path(
                f"<path:object_id>/{word}/",
                self.admin_site.admin_view(view),
                name=f"workspace_customer_{word}",
            )
            for word, view in views
        ]
        return [*ours, *super().get_urls()]

    def render_change_form(
        self, request: HttpRequest, context: Any, *rest: Any, **more: Any
    ) -> Any:
        customer = more.get("obj")
        context["may_erase"] = customer is not None and self.has_delete_permission(
            request, customer
        )
        return super().render_change_form(request, context, *rest, **more)

    def export_view(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        """Downloads what is stored about the customer as JSON; records the export."""
        customer = self._erasable(request, object_id)
        return StreamingHttpResponse(
            export.document(customer, _actor(request)),
            content_type="application/json",
            headers={
                "Content-Disposition": f'attachment; filename="{customer.pk}.json"',
                "Cache-Control": "no-store",
            },
        )

    def erase_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Hides the customer after a confirmation; the background worker erases the rest."""
        customer = self._erasable(request, object_id)
        if request.method != "POST":
            return self._confirm_page(request, customer)
        organization = customer.organization
        try:
            with transaction.atomic():
                begun = erasure.begin(organization.pk, customer.pk, _actor(request))
                # By its id only, in the organization's history: the customer's is erased.
                self.log_change(request, organization, f"Erased customer {customer.pk}.")
                erasure.finish_later(begun)
        except UnknownCustomer as unknown:
            raise Http404(str(unknown)) from unknown
        messages.success(
            request,
            _("Customer %(customer)s is hidden from now on. The data is erased in the background.")
            % {"customer": customer.pk},
        )
        return HttpResponseRedirect(admin_urls.model_url(Customer))

    def _erasable(self, request: HttpRequest, object_id: str) -> Customer:
        key = unquote(object_id)
        if not self.has_delete_permission(request):
            raise PermissionDenied
        if storable.has_unstorable_text(key):
            raise Http404
        rows = self.limit_rows(request, self.get_queryset(request), "delete")
        customer: Customer | None = rows.filter(pk=key).first()
        if customer is None:
            raise Http404
        return customer

    def _confirm_page(self, request: HttpRequest, customer: Customer) -> HttpResponse:
        whom = subject.from_customer(customer)
        counts = erasure.preview(whom)
        tables = [
            {"name": table.model._meta.verbose_name_plural, "effect": table.effect, "count": many}
            for table, many in zip(TABLES, counts.values(), strict=True)
        ]
        context = {
            **self.admin_site.each_context(request),
            "title": _("Erase this customer?"),
            "opts": self.opts,
            "row": customer,
            "tables": tables,
            "left": _count_in_time(erasure.preview_left, whom),
            "not_found": _count_in_time(erasure.preview_not_found, whom),
        }
        return TemplateResponse(request, PAGE, context)


def _count_in_time(
    count: Callable[[Subject], Mapping[str, int]], whom: Subject
) -> Mapping[str, int] | None:
    """Returns the counts, None if counting takes too long."""
    try:
        with transaction.atomic(), time_limit(COUNT_SECONDS):
            return count(whom)
    except TimeLimitExceeded:
        return None


def _get_or_post(view: Any) -> Any:
    return require_http_methods(["GET", "POST"])(view)


def _actor(request: HttpRequest) -> PrivacyActor:
    forwarded = request.headers.get("X-Forwarded-For")
    address = peer.client_address(request.META.get("REMOTE_ADDR", ""), forwarded)
    return PrivacyActor(str(request.user), str(request.user.pk), address)
