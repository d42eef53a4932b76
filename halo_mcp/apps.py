from django.apps import AppConfig


class HaloConfig(AppConfig):
    name = "halo_mcp"
    verbose_name = "Halo MCP"

    def ready(self) -> None:
        from halo_mcp import bindings, checks  # noqa: F401, PLC0415  system checks register here

        bindings.bind()
