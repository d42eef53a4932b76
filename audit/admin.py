"""The audit trail as admins read it: every filter, no way to change a row."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from audit.models import ActionExecution, SecurityEvent


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
        "reason",
        "layer",
        "integration",
        "tool",
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
