"""Every periodic task, when it runs, and that nothing is missing on either side."""

from datetime import timedelta
from typing import Any

from celery.schedules import crontab

from halo_mcp.celery import LONG_TASKS, app
from halo_mcp.schedule import SCHEDULE, ScheduleEntry, every
from tests.architecture import sources

EVERY_DAY_AT = {
    "workspace.refresh_older_kpis": "02:20",
    "oauth.prune_unused_clients": "03:10",
    "oauth.remove_obsolete_scopes": "03:20",
    "oauth.prune_spent_credentials": "03:25",
    "tools_registry.prune_asking": "03:40",
    "people.prune_data_use": "03:50",
    "console.prune_sessions": "03:55",
    "audit.prune": "04:10",
    "gateway.prune_documents": "04:20",
    "workspace.prune_data": "04:30",
    "tools_registry.check_connections": "05:10",
}
EVERY = {
    "agents.end_abandoned": timedelta(minutes=1),
    "approvals.execute_queued": timedelta(seconds=30),
    "approvals.follow": timedelta(minutes=15),
    "approvals.settle": timedelta(minutes=1),
    "oauth.forget_replies": timedelta(minutes=5),
    "audit.finish_interrupted": timedelta(minutes=5),
    "foundation.note_schedule": timedelta(minutes=1),
    "foundation.prune_rate_counters": timedelta(hours=1),
    "foundation.replay_journal": timedelta(minutes=1),
    "gateway.mail_waiting": timedelta(minutes=1),
    "ingestion.prune_repeatable_requests": timedelta(hours=1),
    "people.apply_employment": timedelta(hours=1),
    "people.fill_search_texts": timedelta(minutes=2),
    "people.recount": timedelta(minutes=1),
    "tools_registry.prune_repeatable_calls": timedelta(hours=1),
    "workspace.send_mails": timedelta(seconds=20),
    "workspace.count_teams": timedelta(hours=1),
    "workspace.finish_erasures": timedelta(minutes=5),
    "workspace.refresh_kpis": timedelta(hours=1),
    "workspace.refresh_changed_kpis": timedelta(minutes=2),
    "workspace.embed_missing": timedelta(minutes=2),
    "workspace.fill_search_texts": timedelta(minutes=2),
    "workspace.renew_name_keys": timedelta(hours=6),
    "workspace.pick_up_imports": timedelta(minutes=1),
    "workspace.pick_up_knowledge": timedelta(minutes=1),
}
# Tasks that are sent when there is work.
ON_REQUEST = {
    "approvals.execute",
    "gateway.mail_approvers",
    "workspace.finish_erasure",
    "workspace.index_knowledge",
    "workspace.run_import",
}


def when(entry: ScheduleEntry) -> Any:
    schedule = entry.when
    if not isinstance(schedule, crontab):
        return schedule
    # Daily: an entry for one weekday, day or month would be another schedule.
    hour, minute = (int(str(part)) for part in (schedule._orig_hour, schedule._orig_minute))
    assert schedule == crontab(hour=str(hour), minute=str(minute))
    return f"{hour:02}:{minute:02}"


def test_each_task_runs_when_this_table_says() -> None:
    intervals = {task: every(interval) for task, interval in EVERY.items()}
    assert {entry.task: when(entry) for entry in SCHEDULE.values()} == {**EVERY_DAY_AT, **intervals}
    assert len(SCHEDULE) == len(EVERY_DAY_AT) + len(EVERY)


def test_times_are_utc() -> None:
    assert (app.conf.timezone, app.conf.enable_utc) == ("UTC", True)


def test_every_task_of_the_code_is_scheduled_and_every_scheduled_task_exists() -> None:
    app.loader.import_default_modules()
    declared = {name for name in app.tasks if not name.startswith("celery.")}
    assert declared - ON_REQUEST == {entry.task for entry in SCHEDULE.values()}
    assert declared >= LONG_TASKS


def test_every_module_of_tasks_is_found_by_the_worker() -> None:
    modules = {path.partition("/")[0] for path in sources.modules() if path.endswith("/tasks.py")}
    app.loader.import_default_modules()
    tasks = {entry.task for entry in SCHEDULE.values()} | ON_REQUEST
    assert modules == {app.tasks[task].run.__module__.partition(".")[0] for task in tasks}
