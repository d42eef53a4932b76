from foundation import journal, limits, scheduled_tasks
from foundation.background import task


@task(name="foundation.prune_rate_counters")
def prune_rate_counters() -> int:
    """Deletes counters whose windows have passed; does nothing unless PostgreSQL holds them."""
    return limits.prune_counters()


@task(name="foundation.replay_journal")
def replay_journal() -> int:
    """Stores the outcomes that a process kept on disk while the database was away."""
    return journal.replay()


@task(name="foundation.note_schedule")
def note_schedule() -> None:
    """Records that a worker runs the tasks of the schedule."""
    scheduled_tasks.note_run()
