"""What tests of integrations share: an organization that has connected a stand-in."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.drivers.grants import Grant
from tests.drivers.standins.connecting import connect
from tests.drivers.standins.contract import serving
from tests.drivers.standins.hubspot import HubSpot


@pytest.fixture
def hubspot(grant: Grant, settings: Any) -> Iterator[HubSpot]:
    standin = HubSpot()
    settings.HALO_VENDOR_URLS = {"hubspot": standin.url}
    connect(grant, "hubspot", standin, contact_properties="phone, jobtitle")
    with serving(standin):
        yield standin
