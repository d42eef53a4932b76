"""Times have one form on all pages: an element in UTC with its zone, which scripts make local."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.test import Client

from foundation.admin_urls import row_url
from oauth.models import AccessToken
from tests.drivers.grants import Grant, make_grant
from workspace.models import User

ROOT = Path(__file__).resolve().parents[2]
AT = datetime(2026, 11, 27, 17, 19, 5, tzinfo=UTC)
SHOWN = (
    '<time datetime="2026-11-27T17:19:05+00:00" data-local="time">Nov 27, 2026, 17:19:05 UTC</time>'
)
# A time of day in the format of a page.
TIME_OF_DAY = re.compile(r"\|date:\"[^\"]*[HhGgPi][^\"]*\"|DATETIME_FORMAT")


@pytest.fixture
def grant(db: None) -> Grant:  # noqa: ARG001  opens the database
    return make_grant()


@pytest.fixture
def superuser(grant: Grant) -> Client:
    User.objects.filter(pk=grant.user.pk).update(
        is_staff=True, is_superuser=True, date_joined=AT, last_login=AT
    )
    client = Client()
    client.force_login(User.objects.get(pk=grant.user.pk))
    User.objects.filter(pk=grant.user.pk).update(last_login=AT)
    return client


def test_read_only_times_of_a_form_are_elements(grant: Grant, superuser: Client) -> None:
    page = superuser.get(row_url(grant.user)).content.decode()
    assert page.count(SHOWN) >= 2
    assert "5:19 p.m." not in page


def test_so_are_those_of_pages_that_change_nothing(grant: Grant, superuser: Client) -> None:
    grant.token()
    AccessToken.objects.update(created=AT)
    assert SHOWN in superuser.get(row_url(AccessToken.objects.get())).content.decode()


def test_so_are_those_of_rows_on_the_page_of_another_row(grant: Grant, superuser: Client) -> None:
    type(grant.membership).objects.filter(pk=grant.membership.pk).update(created_at=AT)
    grant.organization.agents.update(created_at=AT)
    assert SHOWN in superuser.get(row_url(grant.organization)).content.decode()


def test_a_form_with_times_is_saved_as_before(grant: Grant, superuser: Client) -> None:
    page = superuser.get(row_url(grant.membership))
    assert page.status_code == 200
    assert superuser.get("/admin/workspace/membership/add/").status_code == 200
    assert superuser.get("/admin/workspace/user/add/").status_code == 200


def test_no_template_writes_a_time_of_day_without_its_zone() -> None:
    found = [
        (str(file.relative_to(ROOT)), line.strip())
        for file in (ROOT / "templates").rglob("*.*")
        for line in file.read_text(encoding="utf-8").splitlines()
        for one in TIME_OF_DAY.finditer(line)
        if " e" not in one[0] and "UTC" not in line
    ]
    assert found == []
