"""Questions that mean the same are one group, as far as words can tell."""

import re
from collections import Counter
from hashlib import md5
from itertools import combinations

import pytest

from customers import questions
from customers.demo import texts
from tests.drivers.data_tools import answer
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.threads import conversation, customer_message
from workspace.models import ConversationOutcome


@pytest.mark.parametrize(
    "asked",
    [
        ("Can we manage boards with Terraform?", "Terraform support for boards?"),
        ("do you have an export of reports", "Reports: is an EXPORT possible?"),
        ("We are charged for 74 seats", "why were we charged for 51 seats?"),
        ("Größe der Anhänge", "grosse der anhange"),
    ],
)
def test_questions_are_alike_whatever_their_order_case_and_common_words(
    asked: tuple[str, str],
) -> None:
    others = ["How do I add an order number to invoices?", "why is the calendar feed so slow"]
    assert questions.group_similar([*asked, *others])[0] == [0, 1]


def test_codes_are_not_alike() -> None:
    assert len(questions.group_similar(["I get 409 on updates", "I get 429 on exports"])) == 2


@pytest.mark.parametrize("seed", range(3))
def test_groups_of_the_demo_data_join_wordings_of_one_question(seed: int) -> None:
    """The figures are those of the module; a change of the rules has to be as good."""
    meanings = {tuple(one.questions) for one in (*texts.topics(), *texts.unknown_topics())}
    asked = [
        (re.sub(r"\{\w+\}", "5", question), number)
        for number, wordings in enumerate(sorted(meanings))
        for question in wordings
    ]
    # Groups form around what comes first.
    asked.sort(key=lambda one: md5(f"{seed} {one}".encode(), usedforsecurity=False).digest())
    joined = Counter(
        asked[one][1] == asked[other][1]
        for numbers in questions.group_similar([question for question, _ in asked])
        for one, other in combinations(numbers, 2)
    )
    assert joined[True] >= 25
    assert joined[False] <= 3


def test_a_ranking_says_that_counts_are_lower_bounds(mcp: McpClient, grant: Grant) -> None:
    for question in ("is there a swiss data center", "Hosting in Zurich?"):
        conversation(
            grant,
            customer_message(question),
            question=question,
            outcome=ConversationOutcome.ESCALATED,
        )
    found = answer(mcp, "data_top_unresolved_questions", period="all_time")
    assert found["total"] == 2
    assert "a count is a lower bound" in found["hints"][-1]
