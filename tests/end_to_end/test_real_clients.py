"""Clients that people use sign in on the real pages and work, each at the revisions it speaks."""

from pathlib import Path

import pytest

from tests.clients import compatibility
from tests.clients.matrix import MATRIX, RealClient
from tests.drivers.node import Unavailable
from tests.drivers.server import Server

pytestmark = pytest.mark.process


@pytest.mark.parametrize("client", MATRIX, ids=lambda client: client.label)
def test_a_real_client_signs_in_lists_the_tools_and_calls_one(
    server: Server, client: RealClient, tmp_path: Path
) -> None:
    try:
        trip = compatibility.taken(client, server, tmp_path)
    except Unavailable as lacking:
        pytest.skip(f"{client.name}: {lacking}")

    assert trip.revision == client.revision
    assert trip.findings.tools == (
        "read_doc",
        "search_docs",
        "setup_get_install_snippet",
        "setup_get_jwt_sample",
    )
    assert '"page": "scopes"' in trip.findings.answer
