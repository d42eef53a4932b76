"""What node runs in tests: exactly these packages, from wherever the machine gets them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parents[1]
FOLDERS = (
    "clients",
    "conformance",
    *(f"clients/daily/node/{kind}" for kind in ("commands", "libraries")),
)
# Exact, so that nothing but a change of this file brings another version.
VERSION = re.compile(r"\d+\.\d+\.\d+(?:-[a-z0-9]+(?:[.-][a-z0-9]+)*)?")


def read(folder: str, name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((TESTS / folder / name).read_text(encoding="utf-8"))
    return document


def packages(folder: str) -> dict[str, dict[str, Any]]:
    """The locked packages by place; the one without a name is the folder itself."""
    locked = read(folder, "package-lock.json")["packages"]
    return {place: package for place, package in locked.items() if place}


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_node_package_is_pinned_by_version_and_digest(folder: str) -> None:
    assert packages(folder)
    for place, package in packages(folder).items():
        assert VERSION.fullmatch(package["version"]), place
        assert package["integrity"].startswith("sha512-"), place


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_node_lock_names_the_place_it_was_made_from(folder: str) -> None:
    assert [place for place, package in packages(folder).items() if "resolved" in package] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_a_node_folder_asks_for_is_exact_and_locked(folder: str) -> None:
    manifest, locked = read(folder, "package.json"), packages(folder)

    for kind in ("dependencies", "optionalDependencies"):
        for name, version in manifest.get(kind, {}).items():
            assert locked[f"node_modules/{name}"]["version"] == version
