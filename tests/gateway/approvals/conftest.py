from collections.abc import Iterator

import pytest

from tests.drivers.grants import Grant
from tests.drivers.reviewed_project import ReviewedProject, reviewed


@pytest.fixture
def project(grant: Grant) -> Iterator[ReviewedProject]:
    """A project whose writes wait for its owner."""
    with reviewed(grant) as project:
        yield project
