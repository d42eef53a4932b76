from django.apps import AppConfig


class ToolsRegistryConfig(AppConfig):
    name = "tools_registry"
    verbose_name = "Tools"

    def ready(self) -> None:
        from tools_registry import checks  # noqa: F401, PLC0415  system checks register here
