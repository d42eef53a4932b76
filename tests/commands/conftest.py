"""A deployment of its own for each test that starts one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.commands import checkout
from tests.commands.deployment import Deployment
from tests.drivers.server import backends_of_its_own, environment, free_port, lay_tables

# Pages of our own: those of the product may change between two starts of one test.
DOCUMENTATION = {"HALO_DOCS_SOURCE": str(checkout.ROOT / "tests/fixtures/documentation")}


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with make_deployment(tmp_path) as made:
        yield made


@pytest.fixture
def migrated_deployment(deployment: Deployment) -> Deployment:
    """A deployment with its tables in place, on SQLite or PostgreSQL."""
    lay_tables(deployment.env)
    return deployment


@pytest.fixture(scope="module")
def shared_deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """The same for several tests, which leave it as it was."""
    with make_deployment(tmp_path_factory.mktemp("shared")) as made:
        lay_tables(made.env)
        yield made


@contextmanager
def make_deployment(folder: Path) -> Iterator[Deployment]:
    port = free_port()
    with backends_of_its_own(port) as backends:
        own = backends | DOCUMENTATION
        made = Deployment(folder, environment(folder, port) | own)
        try:
            yield made
        finally:
            made.clear_away()
