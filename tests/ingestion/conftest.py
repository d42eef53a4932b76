import pytest

from tests.ingestion import app as own_app
from tests.ingestion.app import App


@pytest.fixture
def app(db: None) -> App:  # noqa: ARG001  asked for: it opens the database
    """The app of an organization."""
    return own_app.create_app()
