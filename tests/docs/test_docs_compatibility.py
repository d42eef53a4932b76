"""The page of clients names each that is run here, at the version that is run."""

import re

import pytest

from tests.clients import compatibility
from tests.clients.daily import page as daily_page
from tests.clients.daily.pinned import CLIENTS
from tests.clients.daily.steps import Step, StepOutcome, Verdict
from tests.clients.matrix import MATRIX
from tests.docs.doc_pages import page, table


def test_the_page_has_a_row_for_every_client_and_setting_and_no_other() -> None:
    rows = [compatibility.line(client, client.revision, compatibility.PASSED) for client in MATRIX]

    assert page("compatibility") == compatibility.replace_rows(page("compatibility"), rows)


def test_the_rows_of_an_older_run_are_replaced() -> None:
    old = f"# Page\n\n| a |\n{compatibility.RULE}\n| old |\n| older |\n\nText.\n"

    assert compatibility.replace_rows(old, ["| new |"]) == (
        f"# Page\n\n| a |\n{compatibility.RULE}\n| new |\n\nText.\n"
    )


HEADING = "From sign-in to expired tokens"
COLUMNS = 3
RUN_ON = 3
PINNED = {client.name: client for client in CLIENTS}


def test_every_client_of_the_daily_run_has_a_row_with_its_pinned_version() -> None:
    expected = [
        [client.name, f"`{client.package}` {client.version}", client.means] for client in CLIENTS
    ]

    assert [row[:COLUMNS] for row in table("compatibility", HEADING)] == expected


@pytest.mark.parametrize("row", table("compatibility", HEADING), ids=lambda row: row[0])
def test_no_client_dies_and_each_second_consent_is_explained(row: list[str]) -> None:
    outcomes = dict(zip(Step, row[RUN_ON + 1 :], strict=True))
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", row[RUN_ON])
    for step, outcome in outcomes.items():
        verdict, _, note = outcome.partition(": ")
        assert verdict in {*Verdict} - {Verdict.DIES}
        assert verdict == Verdict.WORKS or note, f"{step} has no explanation"
        if verdict == Verdict.SECOND_CONSENT:
            assert PINNED[row[0]].notes[step] in note


def test_a_run_replaces_the_rows_of_its_clients() -> None:
    first, second, _other, fourth = CLIENTS[:4]
    works = dict.fromkeys(Step, StepOutcome(Verdict.WORKS))
    kept = daily_page.line(second, "2026-01-01", works)
    old = daily_page.line(first, "2026-01-01", works)
    new = daily_page.line(
        first, "2026-02-01", {**works, Step.EXPIRY: StepOutcome(Verdict.DIES, "a|b")}
    )
    added = daily_page.line(fourth, "2026-02-01", works)
    page = "# Page\n\n| a |\n{rule}\n{rows}\n\nText.\n"

    assert "| works | works | works | dies: a/b | works |" in new
    written = daily_page.replace_rows(
        page.format(rule=daily_page.RULE, rows=f"{old}\n{kept}"), [added, new], CLIENTS
    )
    assert written == page.format(rule=daily_page.RULE, rows=f"{new}\n{kept}\n{added}")
