"""The switches in an admin's hands."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from tools_registry.models import ActionToggle, IntegrationMode
from workspace.publishing_admin import PublishingAdmin


@admin.register(IntegrationMode)
class IntegrationModeAdmin(PublishingAdmin):
    organization_lookup = "organization"
    list_display = ("integration", "organization", "actions_on", "connection", "last_error_at")
    list_filter = ("integration", "actions_on", "connection", "organization")
    list_select_related = ("organization",)
    readonly_fields = ("connected_at", "last_error", "last_error_at", "updated_at")


@admin.register(ActionToggle)
class ActionToggleAdmin(PublishingAdmin):
    organization_lookup = "agent__organization"
    list_display = ("action", "integration", "agent", "enabled", "updated_at", "updated_by")
    list_filter = ("enabled", "integration", "agent__organization")
    list_select_related = ("agent", "updated_by")
    search_fields = ("action", "integration")
    readonly_fields = ("updated_at", "updated_by")

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001  Django's signature
        obj.updated_by = request.user
        super().save_model(request, obj, form, change)
