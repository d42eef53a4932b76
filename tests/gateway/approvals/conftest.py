from collections.abc import Iterator

import pytest

from tests.drivers.grants import Grant
from tests.drivers.reviewed_project import ReviewedProject, open_reviewed_project


@pytest.fixture
def project(grant: Grant) -> Iterator[ReviewedProject]:
    """A project whose writes wait for its owner."""
    with open_reviewed_project(grant) as project:
        yield project
