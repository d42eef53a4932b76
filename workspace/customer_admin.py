"""Customers as admins see them: one by one, and from a file."""

from typing import IO, Any, Final

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext_lazy as _

from workspace import customer_file, customer_import, customers
from workspace.customer_file import Unusable
from workspace.customer_import import Counts
from workspace.models import Customer, Organization

SHOWN_PROBLEMS: Final = 50
GIVEN: Final = ("organization", "external_id", "email", "name", *customers.VENDOR_IDS)


def _vendor_field(integration: str) -> forms.RegexField:
    vendor = customers.VENDOR_IDS[integration]
    return forms.RegexField(
        regex=rf"\A(?:{vendor.pattern.pattern})\Z",
        required=False,
        label=vendor.title,
        help_text=vendor.shape,
        error_messages={"invalid": vendor.shape},
    )


class CustomerForm(forms.ModelForm):  # type: ignore[type-arg]
    hubspot = _vendor_field("hubspot")
    stripe = _vendor_field("stripe")

    class Meta:
        model = Customer
        fields = ("organization", "external_id", "email", "name")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for integration in customers.VENDOR_IDS:
            self.initial[integration] = self.instance.vendor_ids.get(integration, "")
        # A customer stays where it is: its ids mean something in one organization only.
        if self.instance.organization_id is not None and "organization" in self.fields:
            self.fields["organization"].disabled = True


class ImportForm(forms.Form):
    organization = forms.ModelChoiceField(Organization.objects.all(), label=_("Organization"))
    file = forms.FileField(
        label=_("File"),
        max_length=255,
        widget=forms.FileInput(attrs={"accept": ".csv,text/csv"}),
    )


class CustomerAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    form = CustomerForm
    list_display = ("__str__", "email", "external_id", "organization", "updated_at")
    list_filter = ("organization",)
    list_select_related = ("organization",)
    search_fields = ("=id", "external_id", "email", "name")
    ordering = ("-created_at", "id")
    autocomplete_fields = ("organization",)
    readonly_fields = ("id", "created_at", "updated_at")
    # Counting a million rows for a footer costs more than the page.
    show_full_result_count = False

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002
        # An id before the row is there would be another one's.
        return GIVEN if obj is None else ("id", *GIVEN, "created_at", "updated_at")

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: ARG002, FBT001  Django's signature
        given = {
            integration: form.cleaned_data[integration] for integration in customers.VENDOR_IDS
        }
        obj.vendor_ids = {name: text for name, text in {**obj.vendor_ids, **given}.items() if text}
        customers.keep(obj)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        more = {"may_import": self._may_import(request), **(extra_context or {})}
        return super().changelist_view(request, more)

    def _may_import(self, request: HttpRequest) -> bool:
        return self.has_add_permission(request) and self.has_change_permission(request)

    def get_urls(self) -> list[URLPattern]:
        own = path(
            "import/",
            self.admin_site.admin_view(self.import_file),
            name="workspace_customer_import",
        )
        return [own, *super().get_urls()]

    def import_file(self, request: HttpRequest) -> HttpResponse:
        """The page that takes a file of customers, all of it or nothing."""
        if not self._may_import(request):
            raise PermissionDenied
        sent = (request.POST, request.FILES) if request.method == "POST" else ()
        form = ImportForm(*sent)
        if not form.is_valid():
            return self._import_page(request, form)
        organization = form.cleaned_data["organization"]
        try:
            counts = _taken(organization, form.cleaned_data["file"])
        except Unusable as unusable:
            return self._import_page(request, form, unusable)
        self._tell(request, organization, counts)
        chosen = f"?organization__id__exact={organization.pk}"
        return HttpResponseRedirect(reverse("admin:workspace_customer_changelist") + chosen)

    def _tell(self, request: HttpRequest, organization: Organization, counts: Counts) -> None:
        # In the organization's history: a row for each customer would drown everything else.
        self.log_change(request, organization, f"Imported customers: {counts}.")
        messages.success(request, f"Imported into {organization}: {counts}.")

    def _import_page(
        self, request: HttpRequest, form: ImportForm, unusable: Unusable | None = None
    ) -> HttpResponse:
        problems = unusable.problems if unusable else []
        context = {
            **self.admin_site.each_context(request),
            "title": _("Import customers"),
            "opts": self.opts,
            "form": form,
            "problems": problems[:SHOWN_PROBLEMS],
            "more_problems": len(problems[SHOWN_PROBLEMS:]),
            "columns": customer_file.COLUMNS,
            "most_rows": customer_file.MOST_ROWS,
            "most_kilobytes": customer_file.MOST_BYTES // 1000,
        }
        return TemplateResponse(request, "admin/workspace/customer/import.html", context)


def _taken(organization: Organization, file: IO[bytes]) -> Counts:
    entries = customer_file.parse(file.read(customer_file.MOST_BYTES + 1))
    return customer_import.take(organization, entries)
