"""Commands print the address that the server of their data folder has."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from halo_mcp import data_folder, served_address
from tests.drivers.server import ROOT

PRINT = "from django.conf import settings; print(settings.HALO_PUBLIC_URL)"


def printed_address(folder: Path, **variables: str) -> str:
    """What a command of this data folder takes for the address of the server."""
    kept = {
        name: value for name, value in os.environ.items() if name not in served_address.DECIDING
    }
    result = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "--command", PRINT],
        cwd=ROOT,
        env={**kept, "HALO_DATA_DIR": str(folder), **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return result.stdout.strip()


def test_a_command_knows_the_port_of_the_server_of_its_data_folder(tmp_path: Path) -> None:
    served_address.write(tmp_path, "http://127.0.0.1:8422")
    assert printed_address(tmp_path) == "http://127.0.0.1:8422"


def test_variables_of_the_command_win(tmp_path: Path) -> None:
    served_address.write(tmp_path, "http://127.0.0.1:8422")
    assert printed_address(tmp_path, PORT="8900") == "http://127.0.0.1:8900"


@pytest.mark.parametrize(
    "content",
    ["", "http://", "https://halo.example", "http://10.0.0.1:8000", "http://[::1", "ü", "x" * 900],
)
def test_another_content_of_the_file_is_not_used(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / served_address.FILE).write_text(content, encoding="utf-8")
    for name in served_address.DECIDING:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HALO_DATA_DIR", str(tmp_path))
    served_address.adopt(["people", "key", "create"], tmp_path / "var")
    assert "HALO_PUBLIC_URL" not in os.environ


def test_a_server_does_not_take_the_address_of_an_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served_address.write(tmp_path, "http://[::1]:8423")
    for name in (*served_address.DECIDING, "HALO_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    served_address.adopt(["up"], tmp_path)
    assert "HALO_PUBLIC_URL" not in os.environ
    monkeypatch.setenv("HALO_PUBLIC_URL", "")
    served_address.adopt(["worker"], tmp_path)
    assert os.environ["HALO_PUBLIC_URL"] == "http://[::1]:8423"


def test_the_address_is_no_part_of_a_backup(tmp_path: Path) -> None:
    served_address.write(tmp_path, "http://127.0.0.1:8422")
    database = {"ENGINE": "django.db.backends.postgresql", "NAME": "halo"}
    assert list(data_folder.find_other_files(tmp_path, database)) == []
