"""The filters beside the audit list."""

import pytest
from django.test import Client

from audit import record
from audit.admin import RecentValuesFilter
from audit.models import Outcome
from audit.record import Act, Actor, Ending
from workspace.models import User


@pytest.mark.django_db
def test_made_up_tool_names_do_not_fill_the_page_with_links(client: Client) -> None:
    for number in range(RecentValuesFilter.VALUES + 20):
        act = Act(method="tools/call", tool=f"made.up_{number:03}")
        record.execution(Actor(), act, Ending(outcome=Outcome.NOT_FOUND))
    client.force_login(User.objects.create_superuser("root@example.com"))

    page = client.get("/admin/audit/actionexecution/").content.decode()

    assert page.count("?tool=made.up_") == RecentValuesFilter.VALUES
    chosen = client.get("/admin/audit/actionexecution/?tool=made.up_003").content.decode()
    assert "1 action execution" in chosen
