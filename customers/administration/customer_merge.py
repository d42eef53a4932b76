"""“Merge” on the page of a customer: what will be joined, and then the merge."""

from typing import Any, Final

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from customers.administration.customer_privacy import PrivacyAdmin
from customers.identification import merges
from customers.identification.joins import JoinedBy
from customers.privacy import subject
from customers.privacy.subject import AmbiguousCustomer, UnknownCustomer
from foundation import admin_urls
from foundation.db import storable
from workspace.models import Customer, JoinOrigin

PAGE: Final = "admin/workspace/customer/merge.html"


class MergeAdmin(PrivacyAdmin):
    """Adds “Merge” to the page of a customer, for those who may change both customers."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(require_http_methods(["GET", "POST"])(self.merge_view))
        ours = path("<path:object_id>/merge/", view, name="workspace_customer_merge")
        return [ours, *super().get_urls()]

    def render_change_form(
        self, request: HttpRequest, context: Any, *rest: Any, **more: Any
    ) -> Any:
        customer = more.get("obj")
        context["may_merge"] = customer is not None and self.has_change_permission(
            request, customer
        )
        return super().render_change_form(request, context, *rest, **more)

    def merge_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Merges the customer that is named into this one, after a page that says what moves."""
        customer = self._changeable(request, object_id)
        named = (request.POST if request.method == "POST" else request.GET).get("other", "")
        other, problem = _find_other(customer, named.strip())
        if request.method == "POST" and other is not None:
            try:
                by = JoinedBy(JoinOrigin.ADMIN, str(request.user))
                merges.merge(customer.organization_id, customer.pk, other.pk, by)
            except (merges.NoSuchCustomer, merges.TooManyRows) as refused:
                problem = str(refused)
            else:
                self.log_change(request, customer, f"Merged customer {other.pk} into it.")
                messages.success(
                    request,
                    _("%(other)s was merged into %(customer)s. You can undo it in the joins.")
                    % {"other": other, "customer": customer},
                )
                return HttpResponseRedirect(admin_urls.row_url(customer))
        return self._merge_page(request, customer, other, problem, named)

    def _changeable(self, request: HttpRequest, object_id: str) -> Customer:
        key = unquote(object_id)
        if not self.has_change_permission(request):
            raise PermissionDenied
        if storable.has_unstorable_text(key):
            raise Http404
        rows = self.limit_rows(request, self.get_queryset(request), "change")
        customer: Customer | None = rows.filter(pk=key).first()
        if customer is None:
            raise Http404
        return customer

    def _merge_page(
        self,
        request: HttpRequest,
        customer: Customer,
        other: Customer | None,
        problem: str,
        named: str,
    ) -> HttpResponse:
        counts = merges.count_rows(other) if other else {}
        context = {
            **self.admin_site.each_context(request),
            "title": _("Merge a customer into this one"),
            "opts": self.opts,
            "row": customer,
            "other": other,
            "named": named,
            "problem": problem,
            "counts": counts,
        }
        return TemplateResponse(request, PAGE, context)


def _find_other(customer: Customer, named: str) -> tuple[Customer | None, str]:
    """Returns the customer to merge, or why there is none; neither if none is named."""
    if not named:
        return None, ""
    try:
        other = subject.find(customer.organization_id, named)
    except (UnknownCustomer, AmbiguousCustomer) as problem:
        return None, str(problem)
    if other.pk == customer.pk:
        return None, str(_("This is the same customer. Enter another one."))
    return other, ""
