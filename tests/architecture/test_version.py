"""One version, wherever it is written."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from django.test import Client

from foundation.version import PRODUCT, VERSION
from tests.drivers.grants import Grant

ROOT = Path(__file__).resolve().parents[2]


def test_the_package_has_the_version_of_the_product() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == VERSION


@pytest.mark.parametrize(
    "words",
    [
        ["./run", "--version"],
        [sys.executable, "manage.py", "--version"],
        [sys.executable, "-m", "halo_mcp.server.serve", "--version"],
    ],
    ids=lambda words: words[-2],
)
def test_a_command_prints_the_version(words: list[str]) -> None:
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.startswith(PRODUCT)


@pytest.mark.parametrize("address", ["/", "/admin/"])
def test_pages_show_the_version_to_people_who_have_signed_in(
    client: Client, grant: Grant, address: str
) -> None:
    assert PRODUCT not in client.get(address, follow=True).content.decode()
    grant.user.is_staff = grant.user.is_superuser = True
    grant.user.save()
    client.force_login(grant.user)

    assert PRODUCT in client.get(address, follow=True).content.decode()
