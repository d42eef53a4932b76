from django.apps import AppConfig


class WorkspaceConfig(AppConfig):
    name = "workspace"
    verbose_name = "Organization"
    default_auto_field = "django.db.models.BigAutoField"
