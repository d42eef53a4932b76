"""The audit trail as admins read it: every filter, no way to change a row."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from audit.models import ActionExecution, SecurityEvent


class RecentValuesFilter(admin.AllValuesFieldListFilter):
    """The values that stand in the newest rows.

    All values there ever were would be a scan of the whole table on every view, and a caller who
    makes up tool names could fill the page with links.
    """

    ROWS, VALUES = 2_000, 40

    def __init__(  # noqa: PLR0917  Django's signature
        self,
        field: Any,
        request: HttpRequest,
        params: dict[str, Any],
        model: Any,
        model_admin: Any,
        field_path: str,
    ) -> None:
        super().__init__(field, request, params, model, model_admin, field_path)
        rows = model_admin.get_queryset(request).order_by("-pk")
        newest = rows.values_list(field_path, flat=True)
        values = sorted({*newest[: self.ROWS]})[: self.VALUES]
        self.lookup_choices = values  # type: ignore[assignment]  # only ever walked through

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Rows may hold no value at all, and a link has to have a name."""
        for choice in super().choices(changelist):
            yield choice | {"display": choice["display"] or _("none")}


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Rows can be read, by staff with the view permission, and nothing else."""

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002  Django's signature
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return False


@admin.register(ActionExecution)
class ActionExecutionAdmin(ReadOnlyAdmin):
    list_display = (
        "started_at",
        "tool_or_method",
        "outcome",
        "reason",
        "layer",
        "client_name",
        "user_email",
        "milliseconds",
    )
    list_filter = (
        "actor_kind",
        "outcome",
        ("reason", RecentValuesFilter),
        ("layer", RecentValuesFilter),
        ("integration", RecentValuesFilter),
        ("tool", RecentValuesFilter),
        "started_at",
    )
    search_fields = ("=request_id", "=token_id", "=authorization_id", "=user_email", "=client_id")
    date_hierarchy = "started_at"
    # Counting a million rows for a footer costs more than the page.
    show_full_result_count = False
    list_per_page = 50

    @admin.display(description=_("tool or method"), ordering="tool")
    def tool_or_method(self, row: ActionExecution) -> str:
        return row.tool or row.method

    @admin.display(description=_("ms"), ordering="duration_us")
    def milliseconds(self, row: ActionExecution) -> str:
        return "" if row.duration_us is None else f"{row.duration_us / 1000:.1f}"


@admin.register(SecurityEvent)
class SecurityEventAdmin(ReadOnlyAdmin):
    list_display = ("last_at", "kind", "count", "address_prefix", "client_id", "detail")
    list_filter = ("kind", "last_at")
    search_fields = ("=address_prefix", "=client_id", "=subject", "=user_id")
    date_hierarchy = "last_at"
    show_full_result_count = False
