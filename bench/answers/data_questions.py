"""Questions about the demo data: the calls that a careful model makes, and the answers by SQL.

The SQL reads the tables and nothing of the product, on SQLite and on PostgreSQL. Its parameters are
the organization's short name and the bounds of periods. Conditions that recur are named with `$`;
`t` is the table that is asked about.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from string import Template
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.db import connection

TIME_ZONE: Final = "Europe/Berlin"
MIN_RIGHT: Final = 58
MAX_MEAN_CHARACTERS: Final = 2_500
# The items that are sent along with a number.
EXAMPLES: Final = 5

Answer = Mapping[str, Any]
# Returns the text of a tool's result for its name and its arguments.
Ask = Callable[[str, Mapping[str, Any]], str]


@dataclass(frozen=True)
class DataQuestion:
    """A question, its call, where the answer is in the result, and the SQL of the right one.

    A figure is rounded to `places`.
    """

    text: str
    tool: str
    arguments: Mapping[str, Any]
    read: Callable[[Answer], Any]
    sql: str
    places: int = 0

    def is_right(self, answer: Any, right: Any) -> bool:
        if isinstance(right, list):
            return isinstance(answer, list) and answer == [*map(_plain, right)]
        try:
            return abs(float(answer) - float(right)) <= 0.51 * 10**-self.places
        except (TypeError, ValueError):
            return bool(answer == _plain(right))


@dataclass(frozen=True)
class DataFigures:
    """What was asked, what was answered wrong, which of that without a hint, and the sizes."""

    asked: int
    wrong: Sequence[str]
    without_hint: Sequence[str]
    characters: Sequence[int]

    @property
    def right(self) -> int:
        return self.asked - len(self.wrong)

    @property
    def mean_characters(self) -> float:
        return sum(self.characters) / len(self.characters)

    @property
    def meets_goals(self) -> bool:
        is_short = self.mean_characters < MAX_MEAN_CHARACTERS
        return self.right >= MIN_RIGHT and not self.without_hint and is_short


def make_parameters(organization: str, now: datetime) -> dict[str, Any]:
    """The organization's short name, and the beginnings of its days, weeks, months and quarters."""
    today = now.astimezone(ZoneInfo(TIME_ZONE)).date()
    week, month = today - timedelta(days=today.weekday()), today.replace(day=1)
    quarter = date(today.year, today.month - (today.month - 1) % 3, 1)
    before_quarter = quarter - timedelta(days=1)
    days = {
        **{f"days_{many}": today - timedelta(days=many - 1) for many in (1, 7, 30, 90)},
        **{f"week_{number}": week - timedelta(days=7 - number) for number in range(8)},
        "tomorrow": today + timedelta(days=1),
        "month": month,
        "last_month": (month - timedelta(days=1)).replace(day=1),
        "quarter": quarter,
        "last_quarter": before_quarter.replace(month=before_quarter.month - 2, day=1),
        "year": date(today.year, 1, 1),
        "unseen": today - timedelta(days=59),
    }
    adapt = connection.ops.adapt_datetimefield_value
    return {
        "organization": organization,
        **{f"{name}_day": str(day) for name, day in days.items()},
        "in_30_days_day": str(today + timedelta(days=30)),
        "hour_ago": adapt(now - timedelta(hours=1)),
        **{
            name: adapt(datetime.combine(day, time(), ZoneInfo(TIME_ZONE)))
            for name, day in days.items()
        },
    }


def find_right_answer(question: DataQuestion, parameters: Mapping[str, Any]) -> Any:
    """Returns the only value of the only row, the values of the only row, or the first column."""
    sql = question.sql
    while "$" in sql:
        sql = Template(sql).substitute({**NAMED, **MINUTES[connection.vendor]})
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        rows = cursor.fetchall()
    if len(rows) != 1:
        return [value for value, *_ in rows]
    return rows[0][0] if len(rows[0]) == 1 else list(rows[0])


def measure(ask: Ask, parameters: Mapping[str, Any]) -> DataFigures:
    """Asks every question and compares the answers with those by SQL."""
    wrong, without_hint, characters = [], [], []
    for question in QUESTIONS:
        text = ask(question.tool, question.arguments)
        characters.append(len(text))
        found = json.loads(text)
        right = find_right_answer(question, parameters)
        try:
            answer = question.read(found)
        except (KeyError, IndexError):
            answer = text
        if not question.is_right(answer, right):
            wrong.append(f"{question.text} {answer!r}, right: {right!r}")
            if not found.get("hints"):
                without_hint.append(question.text)
    return DataFigures(len(QUESTIONS), wrong, without_hint, characters)


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | None) else str(value)


def total(found: Answer) -> Any:
    return found["total"]


def first_group(found: Answer) -> Any:
    value, count = found["groups"][0]["value"], found["groups"][0]["count"]
    return [value["name"] if isinstance(value, Mapping) else value, count]


def figure(found: Answer) -> Any:
    return found["items"][0]["value"]


def highest_point(found: Answer) -> Any:
    return [found["summary"]["highest"][name] for name in ("start", "value")]


def _items(member: str) -> Callable[[Answer], Any]:
    return lambda found: [one[member] for one in found["items"]]


def _member(*path: str) -> Callable[[Answer], Any]:
    def read(found: Answer) -> Any:
        value: Any = found
        for name in path:
            value = value[name]
        return value

    return read


# Minutes from one time to a later one.
MINUTES: Final = {
    "sqlite": {
        "minutes_to_response": "1440 * (julianday(t.first_response_at) - julianday(t.created_at))",
        "minutes_before_chat": "1440 * (julianday(t.started_at) - julianday(e.at))",
    },
    "postgresql": {
        "minutes_to_response": "extract(epoch FROM t.first_response_at - t.created_at) / 60",
        "minutes_before_chat": "extract(epoch FROM t.started_at - e.at) / 60",
    },
}
NAMED: Final = {
    "this_one": "(SELECT id FROM workspace_organization WHERE slug = %(organization)s)",
    "own": "t.organization_id = $this_one",
    "current": "t.lifecycle <> 'churned'",
    "real": "t.status <> 'spam'",
    "unresolved": "t.status NOT IN ('spam', 'resolved')",
    "of_acme": (
        "t.company_id = (SELECT id FROM workspace_company "
        "WHERE domain = 'acme.example' AND organization_id = $this_one)"
    ),
    "of_maria": (
        "t.customer_id = (SELECT id FROM workspace_customer "
        "WHERE email_key = 'maria@acme.example' AND organization_id = $this_one)"
    ),
    # Of a company: people who have not churned; none at all is no churn.
    "with_people": (
        "EXISTS (SELECT 1 FROM workspace_customer u "
        "WHERE u.company_id = t.id AND u.lifecycle <> 'churned')"
    ),
    "staying": (
        "($with_people OR NOT EXISTS "
        "(SELECT 1 FROM workspace_customer u WHERE u.company_id = t.id))"
    ),
    # Of a ticket: the messages that its customer can see, and who wrote the last one.
    "seen_messages": (
        "FROM workspace_ticketmessage m WHERE m.ticket_id = t.id AND NOT m.is_internal"
    ),
    "last_author": (
        "(SELECT m.author_kind $seen_messages AND m.author_kind <> 'system' "
        "ORDER BY m.position DESC LIMIT 1)"
    ),
    "last_reply": (
        "coalesce((SELECT max(m.position) $seen_messages "
        "AND m.author_kind IN ('agent', 'teammate')), 0)"
    ),
    # Of a conversation: the page that was viewed last in the half hour before.
    "page_before": (
        "(SELECT e.page_url FROM workspace_event e WHERE e.organization_id = t.organization_id "
        "AND e.event_type = 'page_view' AND e.page_url <> '' AND e.session_id <> '' "
        "AND e.session_id = t.session_id AND e.at <= t.started_at AND $minutes_before_chat <= 30 "
        "ORDER BY e.at DESC, e.id DESC LIMIT 1)"
    ),
}
COUNT: Final = Template("SELECT count(*) FROM workspace_$table t WHERE $$own AND ($where)")
# Of a day of last week, by its number from 0.
COUNT_OF_DAY: Final = Template(
    "SELECT %(week_${n}_day)s, count(*) FROM workspace_ticket t WHERE $$own AND $$real "
    "AND t.created_at >= %(week_$n)s AND t.created_at < %(week_$next)s"
)
TICKETS, USERS, COMPANIES = "data_search_tickets", "data_search_users", "data_search_companies"
LEADS, CHATS, EVENTS = "data_search_leads", "data_search_transcripts", "data_search_events"
RATINGS, METRICS = "data_list_negative_feedback", "data_query_metrics"
TABLES: Final = {
    TICKETS: "ticket",
    USERS: "customer",
    COMPANIES: "company",
    LEADS: "lead",
    CHATS: "conversation",
    EVENTS: "event",
    RATINGS: "feedback",
}


def _count(text: str, tool: str, where: str, **arguments: Any) -> DataQuestion:
    """A question for a number of rows, which is the total of a list, with some of them to see."""
    sql = COUNT.substitute(table=TABLES[tool], where=where)
    return DataQuestion(text, tool, {**arguments, "page_size": EXAMPLES}, total, sql)


def _figure(text: str, metric: str, sql: str, places: int = 0, **arguments: Any) -> DataQuestion:
    """A question for a key figure, without the period before."""
    arguments = {"metric": metric, "compare": "none", **arguments}
    return DataQuestion(text, METRICS, arguments, figure, sql, places)


ABOUT_TICKETS: Final = (
    _count("How many tickets are open?", TICKETS, "$unresolved", status="unresolved"),
    _count(
        "How many tickets are snoozed or in progress?",
        TICKETS,
        "t.status IN ('snoozed', 'in_progress')",
        status=["snoozed", "in_progress"],
    ),
    _count(
        "How many open tickets are urgent?",
        TICKETS,
        "$unresolved AND t.priority = 'priority'",
        status="unresolved",
        priority="priority",
    ),
    _count(
        "How many tickets came today?",
        TICKETS,
        "$real AND t.created_at >= %(days_1)s AND t.created_at < %(tomorrow)s",
        period="today",
    ),
    _count(
        "How many tickets came last week?",
        TICKETS,
        "$real AND t.created_at >= %(week_0)s AND t.created_at < %(week_7)s",
        period="last_week",
    ),
    _count(
        "How many tickets were resolved in the last 7 days?",
        TICKETS,
        "t.status = 'resolved' AND t.resolved_at >= %(days_7)s AND t.resolved_at < %(tomorrow)s",
        status="resolved",
        time_field="resolved_at",
        period="last_7_days",
    ),
    _count("How much spam is there?", TICKETS, "t.status = 'spam'", status="spam"),
    _count(
        "How many open tickets has nobody taken?",
        TICKETS,
        "$unresolved AND t.assignee_id IS NULL",
        status="unresolved",
        assignee="unassigned",
    ),
    _count(
        "How many open tickets have had no first response?",
        TICKETS,
        "$unresolved AND t.first_response_at IS NULL",
        status="unresolved",
        first_response="missing",
    ),
    _count(
        "In how many open tickets did the customer write last?",
        TICKETS,
        "$unresolved AND coalesce($last_author, 'customer') = 'customer'",
        status="unresolved",
        last_author="customer",
    ),
    DataQuestion(
        "Which three tickets wait longest for us?",
        TICKETS,
        {"sort": "waiting_since_asc", "page_size": 3},
        _items("id"),
        "SELECT t.id FROM workspace_ticket t WHERE $own AND $unresolved "
        "AND coalesce($last_author, 'customer') = 'customer' ORDER BY coalesce((SELECT min(m.at) "
        "$seen_messages AND m.author_kind = 'customer' AND m.position > $last_reply), "
        "t.created_at), t.id LIMIT 3",
    ),
    _count(
        "How many tickets has Acme sent?", TICKETS, "$real AND $of_acme", company="acme.example"
    ),
    _count(
        "How many tickets has Maria of Acme sent?",
        TICKETS,
        "$real AND $of_maria",
        user="maria@acme.example",
    ),
    _count(
        # The letters are in “associate” too.
        "How many tickets are about SSO?",
        TICKETS,
        "$real AND (replace(LOWER(t.subject), 'associate', '') LIKE '%%sso%%' OR EXISTS (SELECT 1 "
        "FROM workspace_ticketmessage m WHERE m.ticket_id = t.id "
        "AND replace(LOWER(m.text), 'associate', '') LIKE '%%sso%%'))",
        query="SSO",
    ),
    DataQuestion(
        "Which category had the most tickets this year?",
        TICKETS,
        {"period": "this_year", "group_by": "category"},
        first_group,
        "SELECT t.category, count(*) FROM workspace_ticket t WHERE $own AND $real "
        "AND t.created_at >= %(year)s AND t.created_at < %(tomorrow)s GROUP BY t.category "
        "ORDER BY 2 DESC, 1 LIMIT 1",
    ),
    DataQuestion(
        "Which company has the most open tickets?",
        TICKETS,
        {"status": "unresolved", "group_by": "company"},
        lambda found: first_group(
            {"groups": [one for one in found["groups"] if one["value"] != "(none)"]}
        ),
        "SELECT c.name, count(*) FROM workspace_ticket t JOIN workspace_company c "
        "ON c.id = t.company_id WHERE $own AND $unresolved GROUP BY c.id, c.name "
        "ORDER BY 2 DESC, c.id LIMIT 1",
    ),
    DataQuestion(
        "What are the last three tickets?",
        TICKETS,
        {"page_size": 3},
        _items("id"),
        "SELECT t.id FROM workspace_ticket t WHERE $own AND $real "
        "ORDER BY t.created_at DESC, t.id LIMIT 3",
    ),
    DataQuestion(
        "Which three tickets were resolved last?",
        TICKETS,
        {"status": "resolved", "sort": "resolved_at_desc", "page_size": 3},
        _items("id"),
        "SELECT t.id FROM workspace_ticket t WHERE $own AND t.status = 'resolved' "
        "ORDER BY t.resolved_at DESC, t.id LIMIT 3",
    ),
)
ABOUT_CUSTOMERS: Final = (
    _count("How many customers are there?", USERS, "$current"),
    _count("How many customers are on Pro?", USERS, "$current AND t.plan = 'pro'", plan="Pro"),
    _count("How many are on trial?", USERS, "t.lifecycle = 'trial'", lifecycle="trial"),
    _count(
        "How many customers churned in the last 30 days?",
        USERS,
        "t.churned_at >= %(days_30)s AND t.churned_at < %(tomorrow)s",
        time_field="churned_at",
        period="last_30_days",
    ),
    _count(
        "How many people does Acme have?", USERS, "$current AND $of_acme", company="acme.example"
    ),
    _count(
        "How many people signed up last month?",
        USERS,
        "t.signed_up_at >= %(last_month)s AND t.signed_up_at < %(month)s",
        time_field="signed_up_at",
        period="last_month",
    ),
    _count(
        "How many Pro customers were not seen for 60 days?",
        USERS,
        "$current AND t.plan = 'pro' AND t.last_seen < %(unseen)s",
        plan="pro",
        time_field="last_seen",
        to="-60d",
    ),
    DataQuestion(
        "On which plan are most customers?",
        USERS,
        {"group_by": "plan"},
        first_group,
        "SELECT t.plan, count(*) FROM workspace_customer t WHERE $own AND $current "
        "GROUP BY t.plan ORDER BY 2 DESC, 1 LIMIT 1",
    ),
    _count(
        "How many IT admins are there?", USERS, "$current AND t.role = 'IT admin'", role="it admin"
    ),
    DataQuestion(
        "Who are the last three who signed up?",
        USERS,
        {"sort": "signed_up_at_desc", "page_size": 3},
        _items("email"),
        "SELECT t.email FROM workspace_customer t WHERE $own AND t.signed_up_at IS NOT NULL "
        "ORDER BY t.signed_up_at DESC, t.id LIMIT 3",
    ),
    _count(
        "How many customers use the product in German?",
        USERS,
        "$current AND t.custom_fields ->> 'language' = 'de'",
        trait="language=de",
    ),
    _count(
        "How many customers have more than 30 boards?",
        USERS,
        "$current AND CAST(t.custom_fields ->> 'boards' AS INTEGER) > 30",
        trait="boards>30",
    ),
    DataQuestion(
        "How many tickets has Maria, by her profile?",
        "data_find_user",
        {"user": "maria@acme.example"},
        _member("activity", "tickets"),
        "SELECT count(*) FROM workspace_ticket t WHERE $own AND $real AND $of_maria",
    ),
    DataQuestion(
        "How much is there of Maria in all?",
        "data_user_journey",
        {"user": "maria@acme.example"},
        total,
        "SELECT (SELECT count(*) FROM workspace_event t WHERE $of_maria) + "
        "(SELECT count(*) FROM workspace_ticket t WHERE $of_maria) + "
        "(SELECT count(*) FROM workspace_conversation t WHERE $of_maria) + "
        "(SELECT count(*) FROM workspace_feedback t WHERE $of_maria)",
    ),
)
ABOUT_COMPANIES: Final = (
    _count("How many companies are there?", COMPANIES, "$staying"),
    _count(
        "How many companies have a health below 40?",
        COMPANIES,
        "$staying AND t.health_score < 40",
        max_health=39,
    ),
    _count(
        "How many companies pay at least 1,000 a month?",
        COMPANIES,
        "$staying AND t.mrr >= 1000",
        min_mrr=1000,
    ),
    DataQuestion(
        "Which three companies pay the most?",
        COMPANIES,
        {"sort": "mrr_desc", "page_size": 3},
        _items("name"),
        "SELECT t.name FROM workspace_company t WHERE $own AND t.mrr IS NOT NULL AND $staying "
        "ORDER BY t.mrr DESC, t.id LIMIT 3",
    ),
    _count(
        "How many companies are at risk or about to cancel?",
        COMPANIES,
        "$staying AND t.renewal_status IN ('at_risk', 'set_to_cancel')",
        renewal_status=["at_risk", "set_to_cancel"],
    ),
    _count(
        "How many contracts renew in the next 30 days?",
        COMPANIES,
        "$staying AND t.renewal_date >= %(days_1_day)s AND t.renewal_date <= %(in_30_days_day)s",
        time_field="renewal_date",
        **{"from": "+0d"},
        to="+30d",
    ),
    DataQuestion(
        "How many people has Acme, by its profile?",
        "data_find_company",
        {"company": "acme.example"},
        _member("activity", "users"),
        "SELECT count(*) FROM workspace_customer t WHERE $own AND $current AND $of_acme",
    ),
    _count(
        "How many leads came this month?",
        LEADS,
        "t.created_at >= %(month)s AND t.created_at < %(tomorrow)s",
        period="this_month",
    ),
    _count("How many leads were converted?", LEADS, "t.status = 'converted'", status="converted"),
)
ABOUT_CONVERSATIONS: Final = (
    _count(
        "How many angry or frustrated chats were there in 90 days?",
        CHATS,
        "t.mood IN ('angry', 'frustrated') AND t.started_at >= %(days_90)s "
        "AND t.started_at < %(tomorrow)s",
        mood=["angry", "frustrated"],
        period="last_90_days",
    ),
    _count(
        "How many chats were escalated last month?",
        CHATS,
        "t.outcome = 'escalated' AND t.started_at >= %(last_month)s AND t.started_at < %(month)s",
        outcome="escalated",
        period="last_month",
    ),
    _count(
        "In how many chats of last quarter did we talk to Acme about onboarding?",
        CHATS,
        "$of_acme AND t.started_at >= %(last_quarter)s AND t.started_at < %(quarter)s AND EXISTS "
        "(SELECT 1 FROM workspace_conversationmessage m WHERE m.conversation_id = t.id "
        "AND m.author_kind IN ('agent', 'teammate') AND LOWER(m.text) LIKE '%%onboarding%%')",
        query="onboarding",
        said_by="agent",
        company="acme.example",
        period="last_quarter",
    ),
    DataQuestion(
        "How many chats of 30 days were in a bad mood?",
        "data_low_sentiment_conversations",
        {"period": "last_30_days"},
        total,
        "SELECT count(*) FROM workspace_conversation t WHERE $own "
        "AND t.mood IN ('confused', 'frustrated', 'angry') AND t.started_at >= %(days_30)s "
        "AND t.started_at < %(tomorrow)s",
    ),
    DataQuestion(
        "On which page do most chats of 90 days begin?",
        "data_top_pages_before_chat",
        {"period": "last_90_days"},
        lambda found: [found["items"][0]["page_url"], found["items"][0]["conversations"]],
        "SELECT page, count(*) FROM (SELECT $page_before AS page FROM workspace_conversation t "
        "WHERE $own AND t.started_at >= %(days_90)s AND t.started_at < %(tomorrow)s) viewed "
        "WHERE page IS NOT NULL GROUP BY page ORDER BY 2 DESC, 1 LIMIT 1",
    ),
    DataQuestion(
        "How many chats of 30 days did the AI agent fail in?",
        "data_top_unresolved_questions",
        {"period": "last_30_days", "page_size": 3},
        _member("considered"),
        "SELECT count(*) FROM workspace_conversation t WHERE $own AND t.question <> '' AND "
        "t.started_at >= %(days_30)s AND t.started_at < %(tomorrow)s AND (t.outcome IN "
        "('escalated', 'abandoned') OR t.confidence < 50 OR EXISTS (SELECT 1 FROM "
        "workspace_feedback f WHERE f.conversation_id = t.id AND f.rating = 'bad'))",
    ),
    _count(
        "How many answers were rated badly in 30 days?",
        RATINGS,
        "t.rating = 'bad' AND t.at >= %(days_30)s AND t.at < %(tomorrow)s",
        period="last_30_days",
    ),
    _count(
        "How many pages were viewed in 7 days?",
        EVENTS,
        "t.event_type = 'page_view' AND t.at >= %(days_7)s AND t.at < %(tomorrow)s",
        event_type="page view",
        period="last_7_days",
    ),
    DataQuestion(
        "How many people clicked #upgrade in 30 days?",
        EVENTS,
        {
            "event_type": "click",
            "element_selector": "upgrade",
            "period": "last_30_days",
            "group_by": "user",
        },
        _member("distinct"),
        "SELECT count(DISTINCT t.customer_id) FROM workspace_event t WHERE $own "
        "AND t.event_type = 'click' AND t.element_selector = '#upgrade' AND t.at >= %(days_30)s "
        "AND t.at < %(tomorrow)s",
    ),
)
ABOUT_FIGURES: Final = (
    _figure(
        "What is the MRR?",
        "mrr",
        "SELECT (SELECT coalesce(sum(t.mrr), 0) FROM workspace_company t WHERE $own "
        "AND $with_people) + (SELECT coalesce(sum(t.mrr), 0) FROM workspace_customer t "
        "LEFT JOIN workspace_company c ON c.id = t.company_id WHERE $own AND $current "
        "AND c.mrr IS NULL)",
        places=2,
    ),
    _figure(
        "How many customers pay?",
        "paying_customers",
        "SELECT count(*) FROM workspace_customer t LEFT JOIN workspace_company c "
        "ON c.id = t.company_id WHERE $own AND t.lifecycle = 'active' "
        "AND coalesce(c.mrr, t.mrr) > 0 "
        "AND coalesce(nullif(t.plan, ''), c.plan, '') NOT IN ('free', 'trial')",
    ),
    _figure(
        "How many customers churned last month?",
        "churned_customers",
        "SELECT count(*) FROM workspace_customer t WHERE $own "
        "AND t.churned_at >= %(last_month)s AND t.churned_at < %(month)s",
        period="last_month",
    ),
    _figure(
        "What is the average health?",
        "average_health",
        "SELECT avg(t.health_score) FROM workspace_company t WHERE $own AND $with_people",
        places=1,
    ),
    _figure(
        "How long did a first response take last month?",
        "first_response_minutes",
        "SELECT avg($minutes_to_response) FROM workspace_ticket t WHERE $own AND $real AND "
        "t.created_at >= %(last_month)s AND t.created_at < %(month)s",
        places=1,
        period="last_month",
    ),
    _figure(
        "Which share of last month's tickets was answered within an hour?",
        "first_response_within_rate",
        "SELECT avg(CASE WHEN $minutes_to_response <= 60 THEN 1.0 ELSE 0.0 END) FROM "
        "workspace_ticket t WHERE $own AND $real AND t.created_at >= %(last_month)s AND "
        "t.created_at < %(month)s AND (t.first_response_at IS NOT NULL "
        "OR t.created_at < %(hour_ago)s)",
        places=4,
        within_minutes=60,
        period="last_month",
    ),
    _figure(
        "Which share of last month's chats did the AI agent resolve?",
        "ai_resolution_rate",
        "SELECT avg(CASE WHEN t.outcome = 'resolved' THEN 1.0 ELSE 0.0 END) FROM "
        "workspace_conversation t WHERE $own AND t.outcome <> '' AND "
        "t.started_at >= %(last_month)s AND t.started_at < %(month)s",
        places=4,
        period="last_month",
    ),
    _figure(
        "Which share of the ratings of 90 days was good?",
        "good_rating_rate",
        "SELECT avg(CASE WHEN t.rating = 'good' THEN 1.0 ELSE 0.0 END) FROM workspace_feedback t "
        "WHERE $own AND t.given_by = 'customer' AND t.at >= %(days_90)s AND t.at < %(tomorrow)s",
        places=4,
        period="last_90_days",
    ),
    DataQuestion(
        "On which day of last week did most tickets come?",
        "data_query_activity_time_series",
        {"metric": "tickets", "bucket": "day", "period": "last_week"},
        highest_point,
        " UNION ALL ".join(COUNT_OF_DAY.substitute(n=day, next=day + 1) for day in range(7))
        + " ORDER BY 2 DESC, 1 LIMIT 1",
    ),
    DataQuestion(
        "How many customers were active last week?",
        "data_query_activity_time_series",
        {"metric": "active_users", "bucket": "week", "period": "last_week"},
        figure,
        "SELECT count(DISTINCT t.customer_id) FROM workspace_event t WHERE $own "
        "AND t.at >= %(week_0)s AND t.at < %(week_7)s",
    ),
)
QUESTIONS: Final[Sequence[DataQuestion]] = (
    *ABOUT_TICKETS,
    *ABOUT_CUSTOMERS,
    *ABOUT_COMPANIES,
    *ABOUT_CONVERSATIONS,
    *ABOUT_FIGURES,
)
