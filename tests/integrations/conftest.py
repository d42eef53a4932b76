"""What tests of integrations share: an organization that has connected a fake vendor."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.drivers.fake_vendors.connected import connect
from tests.drivers.fake_vendors.contract import serving
from tests.drivers.fake_vendors.hubspot import HubSpot
from tests.drivers.grants import Grant


@pytest.fixture
def hubspot(grant: Grant, settings: Any) -> Iterator[HubSpot]:
    fake = HubSpot()
    settings.HALO_VENDOR_URLS = {"hubspot": fake.url}
    connect(grant, "hubspot", fake, contact_properties="phone, jobtitle")
    with serving(fake):
        yield fake
