"""Requests are counted again when what they are counted by changes: holidays, employment, rules.

What has to be counted is a row, which the worker reads after the change was committed. It counts
the requests of some people at a time, so that nobody waits for all of them. Leave years that have
ended stay as they were counted, unless the change names the days that it is about. Each request
that has another length then is on record.
"""

import time
from collections.abc import Collection
from datetime import date
from functools import partial
from typing import Any, Final

import structlog
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from foundation import leases, queueing
from people import access, calendars, changes, days, leave_years, lengths
from people.employment_history import find_histories
from people.models import EmploymentRecord, LengthChange, Person, Recount, TimeOff
from people.models.time_off import BLOCKING
from workspace.models import Organization, User

log = structlog.get_logger(__name__)

TASK: Final = "people.recount"
# Of a run; the next one continues where it stopped.
RUN_SECONDS: Final = 30.0
# People whose requests are counted in one transaction.
BATCH: Final = 100
MAX_REASON: Final = 500


def request_recount(
    organization: Organization,
    reason: str,
    user: User | None = None,
    *,
    dates: Collection[date] = (),
    **conditions: Any,
) -> bool:
    """Has the worker count requests again: those that have a day from the first date to the last.

    Further conditions are a `person`, a `work_place` or a `category`. Called in the transaction of
    the change. Returns whether there are such requests. There may be one that is being made, so
    that the worker looks for them in any case.
    """
    recount = Recount(
        organization=organization,
        reason=reason[:MAX_REASON],
        user=user,
        first_day=min(dates, default=None),
        last_day=max(dates, default=None),
        **conditions,
    )
    recount.save(force_insert=True)
    transaction.on_commit(partial(queueing.send, TASK))
    return _find_requests(recount).exists()


def run_waiting() -> int:
    """Counts what waits, for half a minute; returns how many requests have another length.

    One that fails is tried again in the next run, and does not keep the others from being counted.
    """
    until = time.monotonic() + RUN_SECONDS
    changed = 0
    for key in list(Recount.objects.filter(finished_at=None).values_list("pk", flat=True)):
        is_finished = False
        while not is_finished:
            if leases.is_stopping() or time.monotonic() > until:
                return changed
            try:
                count, is_finished = _run_batch(key)
            except Exception:
                log.exception("recount_failed", recount=key)
                break
            changed += count
    return changed


def _run_batch(key: str) -> tuple[int, bool]:
    """Counts the requests of the next people; returns how many changed, and whether it was all."""
    with transaction.atomic():
        # The lock makes another worker wait, which then continues with the people after these.
        related = Recount.objects.select_related("organization")
        recount = related.select_for_update(of=("self",)).filter(pk=key).first()
        if recount is None or recount.finished_at is not None:
            return 0, True
        people = _find_people(recount).filter(pk__gt=recount.last_person).order_by("pk")
        keys = list(people.values_list("pk", flat=True)[:BATCH])
        changed = _recount(recount, keys)
        access.rows(LengthChange, recount.organization_id).bulk_create(changed)
        values: dict[str, object] = (
            {"last_person": keys[-1]} if len(keys) == BATCH else {"finished_at": timezone.now()}
        )
        changes.apply(recount, values)
        return len(changed), recount.finished_at is not None


def _find_requests(recount: Recount) -> QuerySet[TimeOff]:
    """The pending and approved requests that a recount is about."""
    first_day = recount.first_day or _find_first_open_day(recount.organization)
    rows = access.rows(TimeOff, recount.organization_id)
    found = rows.filter(status__in=BLOCKING, end_date__gte=first_day)
    if recount.last_day is not None:
        found = found.filter(start_date__lte=recount.last_day)
    if recount.person_id:
        found = found.filter(person=recount.person_id)
    if recount.category_id:
        found = found.filter(category=recount.category_id)
    if recount.work_place_id:
        found = found.filter(person__in=_find_people(recount).values("pk"))
    return found


def _find_people(recount: Recount) -> QuerySet[Person]:
    """The people whose requests a recount may be about, also those without requests.

    A request that is being made is not visible yet, but it holds the lock of its person. Whoever
    locks the person next waits for it, and then sees it.
    """
    people = access.rows(Person, recount.organization_id)
    if recount.person_id:
        return people.filter(pk=recount.person_id)
    if place := recount.work_place_id:
        records = access.rows(EmploymentRecord, recount.organization_id)
        there = records.filter(work_place=place).values("person")
        return people.filter(Q(work_place=place) | Q(pk__in=there))
    return people


def _find_first_open_day(organization: Organization) -> date:
    settings = leave_years.find_settings(organization.pk)
    return leave_years.find_year(settings, days.today(organization)).starts_on


def _recount(recount: Recount, keys: Collection[str]) -> list[LengthChange]:
    """Counts the requests of people with the same statements for many as for one."""
    # Whatever changes a request locks the person first.
    people = access.rows(Person, recount.organization_id).filter(pk__in=keys)
    related = people.select_related("working_pattern", "work_place")
    locked = list(related.order_by("pk").select_for_update(of=("self",)))
    rows = list(
        _find_requests(recount)
        .filter(person__in=keys)
        .order_by("person_id", "pk")
        .select_related("category")
        .select_for_update(of=("self",))
    )
    if not rows:
        return []
    histories = find_histories(locked)
    first, last = min(row.start_date for row in rows), max(row.end_date for row in rows)
    holidays = calendars.find_holidays_of(histories.values(), first, last)
    found = []
    for row in rows:
        before, history = row.amount_days, histories[row.person_id]
        row.person = history.person
        taken = lengths.amount(
            row, row.start_date, row.end_date, history=history, holidays=holidays[row.person_id]
        )
        changes.apply(row, {"amount_days": taken.days, "amount_minutes": taken.minutes})
        if taken.days != before:
            own = {"organization_id": recount.organization_id, "recount": recount}
            after = {"days_before": before, "days_after": taken.days}
            found.append(LengthChange(time_off=row, **own, **after))
    return found
