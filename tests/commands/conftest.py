"""A deployment of its own for each test that starts one."""

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

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
        own = database | _broker_of_its_own() | DOCUMENTATION
        made = Deployment(tmp_path, environment(tmp_path, port) | own)
        try:
            yield made
        finally:
            made.clear_away()


def _broker_of_its_own() -> dict[str, str]:
    """A Redis database from which the worker of no other server takes tasks."""
    url = os.environ.get("REDIS_URL")
    if not url:
        return {}
    parts = urlsplit(url)
    number = (int(parts.path.strip("/")) + 7) % 15 + 1
    return {"REDIS_URL": parts._replace(path=f"/{number}").geturl()}
