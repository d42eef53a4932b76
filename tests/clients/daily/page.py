"""The table of docs/compatibility.md from sign-in to expired tokens, written from a run."""

from collections.abc import Mapping, Sequence
from typing import Final

from tests.clients import compatibility
from tests.clients.daily.pinned import PinnedClient
from tests.clients.daily.steps import Step, StepOutcome, Verdict

RULE: Final = "|---" * (4 + len(Step)) + "|"


def line(client: PinnedClient, day: str, outcomes: Mapping[Step, StepOutcome]) -> str:
    cells = [client.name, f"`{client.package}` {client.version}", client.means, day]
    cells += [cell(client, step, outcomes[step]) for step in Step]
    return f"| {' | '.join(cells)} |"


def cell(client: PinnedClient, step: Step, outcome: StepOutcome) -> str:
    verdict, note = outcome.verdict, client.notes.get(step)
    if note and verdict is Verdict.WORKS and step not in client.consents_again:
        verdict = Verdict.NOTED
    notes = [each for each in (outcome.note, note) if each and verdict is not Verdict.WORKS]
    text = ": ".join([verdict, *(["; ".join(notes)] if notes else [])])
    return text.replace("|", "/").replace("<", "&lt;").replace("*", r"\*")


def replace_rows(page: str, rows: Sequence[str], clients: Sequence[PinnedClient]) -> str:
    """The page with these rows in its table, and those of the other clients as they were."""
    _, _, after = page.partition(f"\n{RULE}\n")
    there = [row for row in after.partition("\n\n")[0].splitlines() if row.startswith("|")]
    by_name = {name_in(row): row for row in [*there, *rows]}
    ordered = [by_name[client.name] for client in clients if client.name in by_name]
    return compatibility.replace_rows(page, ordered, RULE)


def name_in(row: str) -> str:
    return row.strip("| ").partition(" |")[0]
