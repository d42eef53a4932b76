"""Everything the suite wants to find on a server, put into the public registry."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.conformance.fixture_changes import CHANGES, CHANGING
from tests.conformance.fixture_content import CONTENT
from tests.conformance.fixture_elicitation import ASKING
from tests.conformance.fixture_resources import OFFERS
from tools_registry import registry


@contextmanager
def include_fixtures() -> Iterator[None]:
    """The suite's fixtures for as long as the block runs."""
    with registry.including(CONTENT, ASKING, OFFERS, CHANGES, CHANGING):
        yield
