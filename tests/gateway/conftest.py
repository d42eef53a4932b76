"""A shop with an API of its own, as a project of somebody's organization."""

from collections.abc import Iterator

import pytest

from tests.drivers import grants
from tests.drivers.fake_vendors.site import Site, serving
from tests.drivers.grants import Grant
from tests.gateway import shop
from tests.gateway.shop import Shop


@pytest.fixture
def grant(db: None) -> Grant:  # noqa: ARG001  opens the database
    return grants.make_grant()


@pytest.fixture
def site() -> Iterator[Site]:
    with serving(Site()) as running:
        yield running


@pytest.fixture
def open_shop(grant: Grant, site: Site) -> Iterator[Shop]:
    """A shop that asks nobody for a credential."""
    project = shop.create_project(grant, site)
    with shop.endpoint(grant, project) as mcp:
        yield Shop(grant, site, project, mcp)
