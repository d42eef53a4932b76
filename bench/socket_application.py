"""The server with WebSockets, every project of which is the workspace server."""

from halo_mcp.asgi import application
from tools_registry.endpoint.surface import WORKSPACE_SURFACE
from tools_registry.pipeline import surface

__all__ = ["application"]

surface.mount_family("gateway", lambda _name: WORKSPACE_SURFACE)
