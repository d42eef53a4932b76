"""Shows how far the demo data is, as a bar in a terminal."""

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from customers.demo import seeding
from workspace.models import DemoSeed


def show(seed: DemoSeed) -> None:
    """Stores what is missing of the demo data; outside of a terminal without a bar."""
    console = Console(stderr=True)
    columns = (
        TextColumn("Demo data: {task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=None)
        for step in seeding.run(seed):
            bar.update(task, completed=step.done, total=step.total, description=step.part)
