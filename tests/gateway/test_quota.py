"""The monthly quota: counted once a call, whatever runs at the same time."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from django.db import connection

from audit.models import SecurityEvent
from gateway import quota
from gateway.models import MonthlyUsage, Plan
from tests.drivers import grants
from tests.drivers.grants import Grant
from workspace.models import Organization

NOVEMBER = datetime(2026, 11, 30, 23, 59, tzinfo=UTC)
DECEMBER = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.mark.django_db(transaction=True)
def test_threads_at_once_cannot_take_more_than_the_quota() -> None:
    organization = grants.make_grant().organization
    Plan.objects.create(organization=organization, monthly_calls=25)

    def take(_number: int) -> bool:
        try:
            return quota.take(organization.pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(12) as pool:
        results = list(pool.map(take, range(60)))
    assert results.count(True) == 25
    assert quota.usage(organization.pk) == quota.QuotaUsage(25, 25)


def test_each_threshold_is_recorded_once_a_month(grant: Grant) -> None:
    place = grant.organization
    Plan.objects.create(organization=place, monthly_calls=10)
    with time_machine.travel(NOVEMBER, tick=False):
        assert [quota.take(place.pk) for _ in range(11)] == [True] * 10 + [False]
        assert quota.next_month() == DECEMBER
    details = [row.detail for row in events(place)]
    assert details == [f"{part} per cent of 10 calls used" for part in (50, 75, 90)]
    with time_machine.travel(DECEMBER, tick=False):
        assert quota.take(place.pk)
        assert quota.usage(place.pk).remaining == 9
    assert MonthlyUsage.objects.count() == 2
    assert len(events(place)) == 3


def test_an_organization_without_a_plan_has_the_default(grant: Grant, settings: Any) -> None:
    place = grant.organization.pk
    assert quota.usage(place) == quota.QuotaUsage(0, None)
    settings.HALO_GATEWAY_MONTHLY_CALLS = 1
    assert [quota.take(place), quota.take(place)] == [True, False]
    plan = Plan.objects.create(organization_id=place, monthly_calls=0)
    assert not quota.take(place)
    Plan.objects.filter(pk=plan.pk).update(monthly_calls=None)
    assert quota.take(place)
    assert quota.usage(place) == quota.QuotaUsage(2, None)
    stranger = grants.make_grant().organization.pk
    assert quota.usage(stranger).used == 0


def events(place: Organization) -> list[SecurityEvent]:
    rows = SecurityEvent.objects.filter(kind="quota_warning", organization_id=str(place.pk))
    return list(rows.order_by("slot", "pk"))
