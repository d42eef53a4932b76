"""Admin pages that show and change the rows of the visitor's own organizations only."""

from typing import Any, ClassVar, Final, TypeVar

from django.contrib import admin
from django.contrib.admin.options import BaseModelAdmin
from django.contrib.admin.utils import get_fields_from_path
from django.core.exceptions import PermissionDenied
from django.db.models import Model, Q, QuerySet
from django.forms import BaseInlineFormSet
from django.http import HttpRequest, HttpResponse

from foundation import admin_urls
from workspace.administration import access as admin_access
from workspace.administration.access import Reach
from workspace.administration.autocomplete import CheckedAutocompleteSelect
from workspace.administration.lookups import DeclaredLookupsAdmin
from workspace.administration.stale import ComparedAdmin
from workspace.models import Agent, Organization, User

M = TypeVar("M", bound=Model)

MAX_NEW_ROWS: Final = 40
EVENTS: Final = "audit.view_securityevent"
# Which rows of these models a form or a filter may offer, by the lookup to their organization.
# Rows of other models are offered by their own column `organization`, else to platform staff only.
CHOICES: Final[dict[type[Model], str]] = {
    Organization: "pk",
    User: "memberships__organization",
    Agent: "organization",
}


class ScopedRelatedFilter(admin.RelatedFieldListFilter):
    """A sidebar filter that offers the visitor's own organizations, and what belongs to them."""

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> Any:
        reach = model_admin.reach(request, "view", "change")
        if reach.everywhere:
            return super().field_choices(field, request, model_admin)
        own = offered_rows(field.related_model, reach)
        ordering = self.field_admin_ordering(field, request, model_admin)
        return field.get_choices(
            include_blank=False, ordering=ordering, limit_choices_to={"pk__in": own.values("pk")}
        )


class ScopedRows(BaseModelAdmin):  # type: ignore[type-arg]
    """Limits rows and choices to the organizations in which the visitor has the permission.

    `organization_lookup` leads from a row to its organization. Without one, only platform staff
    see the rows.
    """

    organization_lookup: ClassVar[str] = ""
    # Columns that are too large to read for a list; a page reads one when it shows it.
    deferred: ClassVar[tuple[str, ...]] = ()
    # Which rows the pages have; the others do not exist for any visitor.
    shown: ClassVar[Q] = Q()

    def reach(self, request: HttpRequest, *verbs: str) -> Reach:
        """Returns the organizations in which the visitor has any of these permissions."""
        found = Reach()
        for verb in verbs:
            name = f"{self.opts.app_label}.{verb}_{self.opts.model_name}"
            found |= admin_access.reach(request.user, name)
        return found if self.organization_lookup or found.everywhere else Reach()

    def limit_rows(self, request: HttpRequest, rows: QuerySet[M], *verbs: str) -> QuerySet[M]:
        """Returns those of the rows on which the visitor has any of these permissions."""
        return self.reach(request, *verbs).limit(rows, self.organization_lookup)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request).filter(self.shown).defer(*self.deferred)
        return self.limit_rows(request, self.add_columns(request, rows), "view", "change")

    def add_columns(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002  for subclasses
        """Returns the rows with the columns that a page computes."""
        return rows

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        more = self._choices(db_field, request)
        if db_field.name in self.get_autocomplete_fields(request):
            more["widget"] = CheckedAutocompleteSelect(db_field, self.admin_site)
        return super().formfield_for_foreignkey(db_field, request, **kwargs | more)

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        more = self._choices(db_field, request)
        return super().formfield_for_manytomany(db_field, request, **kwargs | more)

    def _choices(self, db_field: Any, request: HttpRequest) -> dict[str, Any]:
        reach = self.reach(request, "add", "change")
        return {} if reach.everywhere else {"queryset": offered_rows(db_field.related_model, reach)}


class ScopedAdmin(ScopedRows, ComparedAdmin, DeclaredLookupsAdmin):
    """The base of every admin page; rows of other organizations do not exist for the visitor."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(self.reach(request, *admin_access.VERBS))

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, obj, "view", "change")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self._may(request, None, "add")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, obj, "change")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, obj, "delete")

    def _may(self, request: HttpRequest, obj: Any, *verbs: str) -> bool:
        reach = self.reach(request, *verbs)
        if obj is None or not reach or reach.everywhere:
            return bool(reach)
        if self.organization_lookup == "organization":
            # Deleting many rows calls this for each of them.
            return reach.includes(obj.organization_id)
        rows: QuerySet[Any] = QuerySet(self.model).filter(pk=obj.pk)
        return reach.limit(rows, self.organization_lookup).exists()

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Selects the organization of a new row where there is only one."""
        initial: dict[str, Any] = super().get_changeform_initial_data(request)
        reach = self.reach(request, "add")
        for field in self.opts.fields:
            if field.related_model is Organization and field.name not in initial:
                own = list(offered_rows(Organization, reach)[:2])
                initial |= {field.name: own[0].pk} if len(own) == 1 else {}
        return initial

    def get_list_filter(self, request: HttpRequest) -> Any:
        return [self._scoped_filter(one) for one in super().get_list_filter(request)]

    def _scoped_filter(self, declared: Any) -> Any:
        if not isinstance(declared, str):
            return declared
        field = get_fields_from_path(self.model, declared)[-1]
        return (declared, ScopedRelatedFilter) if field.is_relation else declared

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **more: Any
    ) -> HttpResponse:
        context["has_no_history"] = not self._may_see_history(request)
        row = context.get("original")
        filters = self.event_filters(row) if row is not None else {}
        context["events_url"] = events_url(request, **filters) if filters else ""
        answer: HttpResponse = super().render_change_form(request, context, *args, **more)
        return answer

    def event_filters(self, row: Any) -> dict[str, str]:  # noqa: ARG002  for subclasses
        """Returns the filters under which the security events have what happened to a row."""
        return {}

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self._may_see_history(request):
            raise PermissionDenied
        return super().history_view(request, object_id, extra_context)

    def _may_see_history(self, request: HttpRequest) -> bool:
        # The history of a person or a client names the other organizations they belong to.
        is_shared = admin_access.is_shared(self.model, self.organization_lookup)
        return not is_shared or self.reach(request, "view", "change").everywhere


def events_url(request: HttpRequest, **filters: str) -> str:
    """Returns the address of the security events under filters, empty for who may not see them."""
    if not admin_access.reach(request.user, EVENTS):
        return ""
    return admin_urls.page_url("audit_securityevent_changelist", **filters)


class ReadOnlyAdmin(ScopedAdmin):
    """Rows can be viewed and not changed."""

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002  Django's signature
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return False


class LabelledFormSet(BaseInlineFormSet):  # type: ignore[type-arg]
    """Names every field of a row for screen readers; a table has only column headings.

    A request can add a few rows: Django makes a form for each number that it is sent, up to 2,000.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.absolute_max = len(self.get_queryset()) + MAX_NEW_ROWS

    def add_fields(self, form: Any, index: int | None) -> None:
        super().add_fields(form, index)
        for name, field in form.fields.items():
            # The admin wraps the widget of a relation; the wrapper's attributes are not rendered.
            widget = getattr(field.widget, "widget", field.widget)
            if not widget.is_hidden:
                widget.attrs.setdefault("aria-label", str(field.label or name))


class ScopedInline(ScopedRows, admin.TabularInline):  # type: ignore[type-arg]
    """Rows on the page of another row, limited to the visitor's own organizations."""

    organization_lookup: ClassVar[str] = "organization"
    formset = LabelledFormSet

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, obj, "view", "change")

    def has_add_permission(self, request: HttpRequest, obj: Any) -> bool:  # type: ignore[override]  # as Django has it for inlines
        return self._may(request, obj, "add")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, obj, "change")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, obj, "delete")

    def _may(self, request: HttpRequest, obj: Any, *verbs: str) -> bool:
        reach = self.reach(request, *verbs)
        return reach.includes(obj.pk) if isinstance(obj, Organization) else bool(reach)


def offered_rows(model: type[Model], reach: Reach) -> QuerySet[Any]:
    """Returns the rows of a model that a form or a filter may offer."""
    columns = {field.name for field in model._meta.concrete_fields}
    own = "organization" if "organization" in columns else ""
    return reach.limit(QuerySet(model), CHOICES.get(model, own))
