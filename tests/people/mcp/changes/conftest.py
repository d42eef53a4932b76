"""A client of a server that allows changes."""

from typing import Any

import pytest

from tests.drivers.mcp import McpClient
from tests.people.api.program import Program
from tests.people.mcp.changes.committing import MODERN
from tests.people.mcp.endpoint import client


@pytest.fixture(autouse=True)
def _writes(settings: Any) -> None:
    settings.HALO_HR_WRITE_MODE = "enabled"


@pytest.fixture
def mcp(program: Program) -> McpClient:
    return client(program, MODERN)
