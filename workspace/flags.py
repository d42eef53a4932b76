"""Feature flags: the names there are and what holds until an organization says otherwise."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from django.utils.translation import gettext_lazy as _

MCP_SERVER: Final = "mcp_server"

DEFAULTS: Final[Mapping[str, bool]] = MappingProxyType({MCP_SERVER: True})
CHOICES: Final = [(MCP_SERVER, _("MCP server: off answers every MCP request with 403"))]
TITLES: Final[Mapping[str, object]] = MappingProxyType({MCP_SERVER: _("The MCP server")})
