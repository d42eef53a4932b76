"""The questions of bench/answers about the demo data, which ./run bench answers prints."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine

from bench.answers.data_questions import (
    MAX_MEAN_CHARACTERS,
    TIME_ZONE,
    make_parameters,
    measure,
)
from customers.demo import seeding
from tests.drivers.data_tools import call
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient

AS_OF = datetime(2026, 11, 18, 14, 20, tzinfo=UTC)

pytestmark = [pytest.mark.slow, pytest.mark.django_db]


@time_machine.travel(AS_OF, tick=False)
def test_questions_about_the_demo_data_are_answered_as_by_sql(mcp: McpClient, grant: Grant) -> None:
    organization = grant.organization
    organization.time_zone = TIME_ZONE
    organization.save()
    list(seeding.run(seeding.plan(organization, "small", AS_OF)))

    def ask(tool: str, arguments: Mapping[str, Any]) -> str:
        (block,) = call(mcp, tool, **arguments).result["content"]
        return str(block["text"])

    figures = measure(ask, make_parameters(organization.slug, AS_OF))
    assert figures.asked == 60
    assert figures.wrong == []
    assert figures.mean_characters < MAX_MEAN_CHARACTERS
