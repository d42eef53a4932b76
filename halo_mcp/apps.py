import gc
from types import ModuleType

from django.apps import AppConfig


class HaloConfig(AppConfig):
    """The last application: all models are imported between its creation and its `ready`."""

    name = "halo_mcp"
    verbose_name = "Halo MCP"

    def __init__(self, app_name: str, app_module: ModuleType) -> None:
        super().__init__(app_name, app_module)
        # What is imported stays, so that collecting garbage meanwhile finds nothing. It took a
        # fifth of the CPU of a start.
        gc.disable()

    def ready(self) -> None:
        # System checks register here.
        from halo_mcp import bindings, checks  # noqa: F401, PLC0415

        bindings.bind()
        gc.enable()
        # Nor is it looked through later: 0.1 seconds for each full collection.
        gc.freeze()
