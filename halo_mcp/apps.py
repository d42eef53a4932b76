from django.apps import AppConfig


class HaloConfig(AppConfig):
    name = "halo_mcp"
    verbose_name = "Halo MCP"

    def ready(self) -> None:
        # System checks register here.
        from halo_mcp import bindings, checks  # noqa: F401, PLC0415

        bindings.bind()
