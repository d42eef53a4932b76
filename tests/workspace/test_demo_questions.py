"""The small demo data has something for every question that the data tools are made for.

The answers come from SQL that SQLite and PostgreSQL both understand.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from customers.demo import seeding
from customers.demo.world import World
from workspace import organizations
from workspace.models import DemoSeed, Ticket, User

pytestmark = pytest.mark.slow

AS_OF = datetime(2026, 11, 18, 14, 20, tzinfo=UTC)
# The least number of rows that a question finds, its SQL, and the parameters.
QUESTIONS: dict[str, tuple[int, str, list[Any]]] = {
    "Who is maria@acme.example?": (
        1,
        (
            "SELECT u.id FROM workspace_customer u JOIN workspace_company c ON c.id = u.company_id "
            "WHERE u.email_key = 'maria@acme.example' AND c.domain = 'acme.example'"
        ),
        [],
    ),
    "What tickets are open?": (
        15,
        "SELECT id FROM workspace_ticket WHERE status NOT IN ('resolved', 'spam')",
        [],
    ),
    "Which open tickets are urgent?": (
        3,
        (
            "SELECT id FROM workspace_ticket WHERE priority = 'priority' "
            "AND status NOT IN ('resolved', 'spam')"
        ),
        [],
    ),
    "What did we tell Acme about onboarding last quarter?": (
        4,
        (
            "SELECT m.id FROM workspace_conversationmessage m JOIN workspace_conversation c "
            "ON c.id = m.conversation_id JOIN workspace_company f ON f.id = c.company_id "
            "WHERE f.name = %s "
            "AND m.author_kind = 'agent' AND LOWER(m.text) LIKE '%%onboarding%%' "
            "AND c.started_at >= %s AND c.started_at < %s"
        ),
        ["Acme", "2026-07-01T00:00+02:00", "2026-10-01T00:00+02:00"],
    ),
    "Who churned in the last 30 days?": (
        2,
        "SELECT id FROM workspace_customer WHERE churned_at >= %s",
        [AS_OF - timedelta(days=30)],
    ),
    "Who churned in the 30 days before?": (
        2,
        "SELECT id FROM workspace_customer WHERE churned_at >= %s AND churned_at < %s",
        [AS_OF - timedelta(days=60), AS_OF - timedelta(days=30)],
    ),
    "What were the last 5 conversations with Globex?": (
        5,
        (
            "SELECT c.id FROM workspace_conversation c JOIN workspace_company f "
            "ON f.id = c.company_id WHERE f.name = %s"
        ),
        ["Globex"],
    ),
    "Which tickets of last week are about SSO?": (
        4,
        (
            "SELECT id FROM workspace_ticket WHERE subject LIKE '%%SSO%%' "
            "AND created_at >= %s AND created_at < %s"
        ),
        ["2026-11-09T00:00+01:00", "2026-11-16T00:00+01:00"],
    ),
    "What are the top 10 companies by MRR?": (
        10,
        "SELECT id FROM workspace_company WHERE mrr > 0",
        [],
    ),
    "How is health distributed?": (
        5,
        "SELECT health_score / 20 FROM workspace_company GROUP BY 1",
        [],
    ),
    "Which Pro customers were not seen for 60 days?": (
        10,
        "SELECT id FROM workspace_customer WHERE plan = 'pro' AND last_seen < %s",
        [AS_OF - timedelta(days=60)],
    ),
    "Where did this month's leads come from?": (
        3,
        "SELECT source FROM workspace_lead WHERE created_at >= %s GROUP BY source",
        ["2026-11-01T00:00+01:00"],
    ),
    "Which answers were rated badly last week?": (
        2,
        (
            "SELECT f.id FROM workspace_feedback f JOIN workspace_conversationmessage m "
            "ON m.conversation_id = f.conversation_id AND m.position = f.position "
            "AND m.author_kind = 'agent' WHERE f.rating = 'bad' AND f.at >= %s AND f.at < %s"
        ),
        ["2026-11-09T00:00+01:00", "2026-11-16T00:00+01:00"],
    ),
    "Who clicked #upgrade in the last 7 days?": (
        3,
        (
            "SELECT DISTINCT customer_id FROM workspace_event WHERE event_type = 'click' "
            "AND element_selector = '#upgrade' AND at >= %s"
        ),
        [AS_OF - timedelta(days=7)],
    ),
    "On which pages do chats start?": (
        500,
        (
            "SELECT DISTINCT c.id FROM workspace_conversation c JOIN workspace_event e "
            "ON e.session_id = c.session_id AND e.event_type = 'page_view' AND e.at < c.started_at"
        ),
        [],
    ),
    "What can the AI not answer?": (
        4,
        (
            "SELECT id FROM workspace_conversation WHERE LOWER(question) LIKE '%%terraform%%' "
            "AND confidence < 50 AND outcome <> 'resolved' AND started_at >= %s"
        ),
        [AS_OF - timedelta(days=30)],
    ),
    "What did Maria do before her ticket?": (
        9,
        (
            "SELECT e.id FROM workspace_event e JOIN workspace_ticket t "
            "ON t.customer_id = e.customer_id AND t.subject = 'SSO login fails for new colleagues' "
            "JOIN workspace_conversation c ON c.id = t.conversation_id "
            "WHERE e.at < c.started_at AND c.started_at < t.created_at AND e.at > %s"
        ),
        [AS_OF - timedelta(days=3)],
    ),
    "What is the refund policy?": (
        1,
        "SELECT id FROM workspace_knowledgesource WHERE title LIKE 'Refunds%%'",
        [],
    ),
    "Which two companies are called Acme?": (
        2,
        "SELECT id FROM workspace_company WHERE name_key LIKE 'acme%%'",
        [],
    ),
    "Which tickets were made at midnight of the organization's day?": (
        2,
        "SELECT id FROM workspace_ticket WHERE created_at IN (%s, %s)",
        ["2026-11-09T00:00+01:00", "2026-11-16T00:00+01:00"],
    ),
    "What is spam?": (5, "SELECT id FROM workspace_ticket WHERE status = 'spam'", []),
    "Which thread is long?": (
        300,
        (
            "SELECT m.id FROM workspace_ticketmessage m JOIN workspace_ticket t "
            "ON t.id = m.ticket_id WHERE t.message_count = 300"
        ),
        [],
    ),
    "Which message tries to instruct a model?": (
        1,
        (
            "SELECT id FROM workspace_ticketmessage "
            "WHERE text LIKE '%%IGNORE ALL PREVIOUS INSTRUCTIONS%%'"
        ),
        [],
    ),
    "How did churn develop?": (
        500,
        "SELECT day FROM workspace_kpisnapshot WHERE metric = 'churn_rate' AND value IS NOT NULL",
        [],
    ),
}
ANGRIEST = (
    "SELECT c.name, COUNT(*) FROM workspace_conversation v JOIN workspace_company c "
    "ON c.id = v.company_id WHERE v.mood = 'angry' AND v.started_at >= %s "
    "GROUP BY c.name ORDER BY 2 DESC LIMIT 2"
)
# Statements that find rows which contradict each other.
CONTRADICTIONS = {
    "the number of messages of a ticket": (
        "SELECT t.id FROM workspace_ticket t "
        "LEFT JOIN workspace_ticketmessage m ON m.ticket_id = t.id GROUP BY t.id, t.message_count "
        "HAVING t.message_count <> COUNT(m.id)"
    ),
    "the newest message of a ticket": (
        "SELECT t.id FROM workspace_ticket t "
        "JOIN workspace_ticketmessage m ON m.ticket_id = t.id AND m.position = t.message_count "
        "WHERE (m.at, m.author_kind, m.author_name) "
        "<> (t.last_message_at, t.last_author_kind, t.last_author_name)"
    ),
    "the subject on the first message only": (
        "SELECT m.id FROM workspace_ticketmessage m "
        "JOIN workspace_ticket t ON t.id = m.ticket_id "
        "WHERE m.heading <> CASE WHEN m.position = 1 THEN t.subject ELSE '' END"
    ),
    "the order of messages": (
        "SELECT m.id FROM workspace_ticketmessage m "
        "JOIN workspace_ticketmessage n ON n.ticket_id = m.ticket_id "
        "AND n.position = m.position + 1 AND n.at < m.at"
    ),
    "resolved tickets have a time of it": (
        "SELECT id FROM workspace_ticket WHERE (status = 'resolved') <> (resolved_at IS NOT NULL)"
    ),
    "the question of a conversation": (
        "SELECT c.id FROM workspace_conversation c "
        "JOIN workspace_conversationmessage m ON m.conversation_id = c.id AND m.position = 1 "
        "WHERE m.text <> c.question"
    ),
    "the end of a conversation": (
        "SELECT id FROM workspace_conversation WHERE (outcome = '') <> (ended_at IS NULL)"
    ),
    "the people of a company": (
        "SELECT c.id FROM workspace_company c "
        "LEFT JOIN workspace_customer u ON u.company_id = c.id GROUP BY c.id, c.team_size "
        "HAVING c.team_size <> COUNT(u.id)"
    ),
    "when somebody was last seen": (
        "SELECT e.id FROM workspace_event e "
        "JOIN workspace_customer u ON u.id = e.customer_id WHERE e.at > u.last_seen"
    ),
    "what comes before signing up": (
        "SELECT u.id FROM workspace_customer u "
        "WHERE u.churned_at < u.signed_up_at OR u.last_seen < u.first_seen"
    ),
    "the company of a ticket": (
        "SELECT t.id FROM workspace_ticket t "
        "JOIN workspace_customer u ON u.id = t.customer_id WHERE t.company_id <> u.company_id"
    ),
    "addresses of real domains": (
        "SELECT id FROM workspace_customer "
        "WHERE email NOT LIKE '%.example' OR email_key <> LOWER(email)"
    ),
}


@pytest.fixture
def demo(db: None) -> DemoSeed:  # noqa: ARG001  the fixture's name is its work
    owner = User.objects.create_user("owner@wren.example", name="Olga")
    organization = organizations.create("Wren", owner=owner)
    organization.time_zone = "Europe/Berlin"
    organization.save()
    seed = seeding.plan(organization, "small", AS_OF)
    list(seeding.run(seed))
    return seed


def test_every_question_has_an_answer(demo: DemoSeed) -> None:
    found = {
        question: len(_rows(statement, parameters))
        for question, (_least, statement, parameters) in QUESTIONS.items()
    }

    assert {
        question: many for question, many in found.items() if many < QUESTIONS[question][0]
    } == {}
    _assert_that_most_tickets_were_made_in_march(demo)
    (angriest, many), (_other, fewer) = _rows(ANGRIEST, [AS_OF - timedelta(days=30)])
    assert (angriest, fewer < many) == ("Hollerbrook Foods", True)


def test_no_row_contradicts_another(demo: DemoSeed) -> None:
    contradicting = {name: _rows(statement, []) for name, statement in CONTRADICTIONS.items()}

    assert {name: rows[:3] for name, rows in contradicting.items() if rows} == {}
    counts = seeding.count(demo.organization)
    assert (counts["customers"], counts["companies"], counts["leads"]) == (400, 60, 120)
    assert 600 <= counts["tickets"] < 620
    assert 500 <= counts["conversations"] < 550
    assert 15_000 <= counts["events"] < 15_100
    assert counts["knowledge sources"] == 13


def _assert_that_most_tickets_were_made_in_march(seed: DemoSeed) -> None:
    """One of the two incidents is on the day with the most tickets."""
    dates = World(seed).dates
    created = Ticket.objects.values_list("created_at", flat=True)
    days = [each.astimezone(dates.zone).date() for each in created]
    assert max(days, key=days.count) == dates.slow_boards
    assert dates.slow_boards.month == 3
    assert days.count(dates.no_sign_in) >= 10


def _rows(statement: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        # Without parameters a percent sign is not doubled.
        written = statement if parameters else statement.replace("%%", "%")
        cursor.execute(written, [_to_database_value(one) for one in parameters] or None)
        return cursor.fetchall()


def _to_database_value(parameter: Any) -> Any:
    """A time as the database compares it."""
    if isinstance(parameter, str) and "T" in parameter:
        parameter = datetime.fromisoformat(parameter)
    is_time = isinstance(parameter, datetime)
    return connection.ops.adapt_datetimefield_value(parameter) if is_time else parameter
