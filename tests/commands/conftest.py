"""A deployment of its own for each test that starts one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands import checkout
from tests.commands.deployment import Deployment
from tests.drivers.server import database_of_its_own, environment, free_port

# Pages of our own: those of the product may change between two starts of one test.
DOCUMENTATION = {"HALO_DOCS_SOURCE": str(checkout.ROOT / "tests/fixtures/documentation")}


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    port = free_port()
    with database_of_its_own(port) as database:
        made = Deployment(tmp_path, environment(tmp_path, port) | database | DOCUMENTATION)
        try:
            yield made
        finally:
            made.clear_away()
