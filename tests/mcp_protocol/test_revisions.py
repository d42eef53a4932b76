"""Revisions: their order, and what a handshake is answered with."""

import pytest

from mcp_protocol.revisions import (
    HANDSHAKE,
    MODERN,
    REVISIONS,
    Revision,
    answer_to_initialize,
    find,
    revisions_since,
)


def test_revisions_stand_in_order_and_split_into_two_eras() -> None:
    assert REVISIONS == HANDSHAKE + MODERN
    assert [revision.value for revision in REVISIONS] == [
        "2024-11-05",
        "2025-03-26",
        "2025-06-18",
        "2025-11-25",
        "2026-07-28",
    ]


def test_since_names_a_revision_and_all_after_it() -> None:
    assert revisions_since(Revision.V2025_11_25) == (Revision.V2025_11_25, Revision.V2026_07_28)
    assert revisions_since(REVISIONS[0]) == REVISIONS


@pytest.mark.parametrize("text", ["2025-03-27", "", "2025-03-26 ", "V2025_03_26", "latest"])
def test_a_revision_spelled_in_any_other_way_is_unknown(text: str) -> None:
    assert find(text) is None


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_handshake_grants_the_revision_asked_for(revision: Revision) -> None:
    assert answer_to_initialize(revision.value) is revision


@pytest.mark.parametrize("asked", ["x", "", "1900-01-01", "2026-07-28", "2099-01-01"])
def test_a_handshake_for_anything_else_offers_the_newest_legacy_revision(asked: str) -> None:
    assert answer_to_initialize(asked) is Revision.V2025_11_25
