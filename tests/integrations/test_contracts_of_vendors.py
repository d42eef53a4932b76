"""The contracts that the fakes of vendors go by name the document that they were taken from."""

import datetime as dt
import hashlib
import json
from pathlib import Path

from tests.drivers.fake_vendors.contract import CONTRACTS

SOURCES = json.loads((CONTRACTS / "sources.json").read_text("utf-8"))


def test_every_contract_names_its_source_and_the_day_it_was_committed() -> None:
    files = {str(file.relative_to(CONTRACTS)) for file in CONTRACTS.glob("*/*")}
    assert files == {*SOURCES}
    for source in SOURCES.values():
        assert source["source"].startswith("https://")
        assert dt.date.fromisoformat(source["committed"]) <= dt.datetime.now(dt.UTC).date()


def test_a_contract_changes_together_with_its_entry() -> None:
    digests = {name: _digest(CONTRACTS / name) for name in SOURCES}
    assert digests == {name: source["sha256"] for name, source in SOURCES.items()}


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
