"""Clients that people use sign in on the real pages and work, each at the revisions it speaks."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clients import compatibility, matrix, real_client_flow
from tests.clients.matrix import MATRIX, RealClient
from tests.clients.real_client_flow import Tour
from tests.drivers.data_tools import BUILT_IN
from tests.drivers.node import Unavailable
from tests.drivers.server import RAISED, Server, running

pytestmark = pytest.mark.process


@pytest.mark.parametrize("client", MATRIX, ids=lambda client: client.label)
def test_a_real_client_signs_in_lists_the_tools_and_calls_one(
    server: Server, client: RealClient, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    try:
        with suitable_server(client, server, tmp_path) as visited:
            trip = compatibility.take_trip(client, visited, home)
    except Unavailable as lacking:
        pytest.skip(f"{client.name}: {lacking}")

    assert trip.revision == client.revision
    assert trip.findings.tools == tuple(BUILT_IN)
    assert '"page": "scopes"' in trip.findings.answer


@contextmanager
def suitable_server(client: RealClient, server: Server, folder: Path) -> Iterator[Server]:
    """The server of this file, or one with the settings that the client needs."""
    if not client.server:
        yield server
        return
    with running(folder, {**RAISED, **client.server}) as another:
        yield another


UNRESOLVED = """
import socket

def getaddrinfo(host, *rest, usual=socket.getaddrinfo, **more):
    if host == "chatgpt.com":
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return usual(host, *rest, **more)

socket.getaddrinfo = getaddrinfo
"""


def test_codex_is_shown_when_its_metadata_document_cannot_be_reached(tmp_path: Path) -> None:
    """On every machine: Python runs `sitecustomize` first, and there the name does not resolve."""
    (tmp_path / "sitecustomize.py").write_text(UNRESOLVED, encoding="utf-8")
    home = tmp_path / "home"
    home.mkdir()
    with running(tmp_path, {**RAISED, "PYTHONPATH": str(tmp_path)}) as server:
        given = Tour(server.mcp_url, home)
        try:
            matrix.configure_codex(given)
            words = [*matrix.codex_words(), "mcp", "login", "halo"]
        except Unavailable as lacking:
            pytest.skip(f"Codex CLI: {lacking}")
        with real_client_flow.start_program(words, given, stderr=subprocess.STDOUT) as (
            process,
            message,
        ):
            process.wait(real_client_flow.SECONDS)

        assert "client_id=https%3A%2F%2Fchatgpt.com%2Foauth%2Fcodex%2Fclient.json" in message.words
        assert "This server could not reach chatgpt.com" in message.words
        assert not message.approved
        (warning,) = [
            line for line in server.log.read_text().splitlines() if "metadata_unreachable" in line
        ]
        assert "HALO_CIMD" in warning
