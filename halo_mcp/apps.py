from django.apps import AppConfig


class HaloConfig(AppConfig):
    name = "halo_mcp"
    verbose_name = "Halo MCP"

    def ready(self) -> None:
        # System checks register here, and tasks that a request sends go to our broker, not to the
        # one that Celery would choose for itself.
        from halo_mcp import bindings, celery, checks  # noqa: F401, PLC0415

        bindings.bind()
