"""Connections set the cost of reading a row by an index that PostgreSQL plans with."""

from contextlib import closing

import pytest
from django.conf import settings
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(settings.ON_SQLITE, reason="SQLite has no such setting"),
]


def cost(of: BaseDatabaseWrapper) -> str:
    with of.cursor() as cursor:
        cursor.execute("SHOW random_page_cost")
        (found,) = cursor.fetchone()
        return str(found)


def test_the_default_of_postgresql_is_replaced() -> None:
    assert cost(connection) == "1.1"


@pytest.mark.parametrize("own", ["4", "2.5"])
def test_a_value_that_the_operator_has_set_is_kept(own: str) -> None:
    other = connection.copy()
    other.uses_pool = False
    other.settings_dict["OPTIONS"] = {
        **other.settings_dict["OPTIONS"],
        "options": f"-c random_page_cost={own}",
    }
    with closing(other):
        assert cost(other) == own
