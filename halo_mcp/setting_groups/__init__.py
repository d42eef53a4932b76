"""Settings of one topic each, which `halo_mcp/settings.py` includes."""

from halo_mcp.setting_groups.agents import *  # noqa: F403  all that it defines is a setting
from halo_mcp.setting_groups.cross_origin import *  # noqa: F403  the same
from halo_mcp.setting_groups.deployment import *  # noqa: F403  the same
from halo_mcp.setting_groups.gateway import *  # noqa: F403  the same
from halo_mcp.setting_groups.people import *  # noqa: F403  the same
from halo_mcp.setting_groups.rest_framework import *  # noqa: F403  the same
from halo_mcp.setting_groups.retention import *  # noqa: F403  the same
from halo_mcp.setting_groups.search import *  # noqa: F403  the same
from halo_mcp.setting_groups.toolkit import *  # noqa: F403  the same
