"""data_query_metrics and data_query_activity_time_series: figures of the whole workspace."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from statistics import fmean
from typing import Annotated, Final, Literal

from customers import kpis
from customers.kpis import FIGURES, activity, days
from customers.kpis.activity import METRICS, Interval
from customers.kpis.days import Unit
from data_tools.query import (
    LAST_30_DAYS,
    CompanyName,
    DataToolCall,
    QueryPeriod,
    TimeRange,
    comparison,
    data_tool,
    invalid_argument,
    one_of,
    periods,
    results,
    who,
)
from data_tools.query.comparison import Comparison
from tools_registry.api import Facts, Json, Toolset
from tools_registry.api.apps import FIGURES_PLOT
from tools_registry.sources import docs, guidance

TOOLSET: Final = Toolset(scope="data:read", title="Metrics")

MAX_POINTS: Final = 400
# Decimal places of a value, by unit.
PLACES: Final = {"ratio": 4, "minutes": 1, "points of 100": 1, "money": 2}
READ_FIGURES: Final = """\
# Read key figures

{plan}

`references/metrics.md` defines each figure, and `references/data-tools.md` has the arguments.
"""
NO_VALUE: Final = "no value, nothing to divide by in the period."
NOT_OVER: Final = "The period is not over, so the one before is counted up to the same time of day."


@data_tool(
    TOOLSET,
    title="Query key figures",
    description=(
        "Key figures such as MRR, churn, tickets and response times, against the period before. "
        "Curves over time: data_query_activity_time_series."
    ),
    result=results.schema(
        items=results.LIST,
        returned=results.WHOLE,
        currency=results.TEXT,
        period=results.OBJECT,
        previous_period=results.OBJECT,
    ),
)
def data_query_metrics(
    call: DataToolCall,
    metric: Annotated[str, one_of(*FIGURES, description="All figures without it")] | None = None,
    time: TimeRange = LAST_30_DAYS,
    compare: Comparison | Literal["none"] = "previous_period",
) -> Facts:
    names = list(FIGURES) if metric is None else [metric]
    period = periods.from_call(call, time)
    start, end = _bounds(call, period)
    previous = None if compare == "none" else comparison.find_compared_period(call, period, compare)
    now = kpis.values(call.access, call.zone, start, end, names)
    then: Mapping[str, float | None] = {}
    if previous is not None and previous.start and previous.end:
        span = previous.start, previous.end
        then = kpis.values(call.access, call.zone, *span, names)
    return results.answer(
        call,
        items=[_figure(name, now[name], then.get(name)) for name in names],
        returned=len(names),
        rows=len(names),
        currency=call.organization.currency,
        period=replace(period, start=start).describe(call, ""),
        previous_period=previous and previous.describe(call, ""),
        hints=[
            *([] if compare == "none" else _comparison_hints(call, period)),
            *(f"{name}: {NO_VALUE}" for name in names if now[name] is None),
        ],
    )


@data_tool(
    TOOLSET,
    title="Query a curve of activity",
    description=(
        "Active users, new users, conversations or tickets in each hour, day, week or month, with "
        "the peak. A point with complete false is not over. Key figures: data_query_metrics."
    ),
    result=results.schema(
        items=results.LIST,
        returned=results.WHOLE,
        summary=results.OBJECT,
        period=results.OBJECT,
    ),
    app=FIGURES_PLOT,
)
def data_query_activity_time_series(
    call: DataToolCall,
    metric: Annotated[str, one_of(*METRICS)],
    bucket: Annotated[Unit, one_of(Unit.DAY, Unit.HOUR, Unit.WEEK, Unit.MONTH)] = Unit.DAY,
    company: CompanyName | None = None,
    time: TimeRange = LAST_30_DAYS,
) -> Facts:
    of_company = who.find_row(call, who.COMPANIES, company)
    period = periods.from_call(call, time)
    start, end = _bounds(call, period, bucket)
    _check_points(start, end, bucket)
    parts = activity.intervals(bucket, call.zone, start, end)
    values = activity.series(
        call.access,
        call.zone,
        metric,
        unit=bucket,
        parts=parts,
        company=of_company.pk if of_company else "",
    )
    points = [_point(call, bucket, part, value) for part, value in zip(parts, values, strict=True)]
    return results.answer(
        call,
        items=points,
        returned=len(points),
        rows=len(points),
        summary=_summary(metric, points),
        period=replace(period, start=start).describe(call, ""),
        searched={"company": who.reference(of_company)},
        hints=[] if any(values) else [_nothing(call, metric)],
    )


def _bounds(
    call: DataToolCall, period: QueryPeriod, unit: Unit = Unit.DAY
) -> tuple[datetime, datetime]:
    """The period as far as it is in the past; without a start, from the first recorded row on."""
    # An end is exclusive; a row of this very moment is counted.
    now = call.now + timedelta.resolution
    end = min(period.end or now, now)
    if period.start is None:
        first = min(activity.first_moment(call.access) or end, end) - timedelta.resolution
        return days.midnight(days.beginning(unit, days.day_of(first, call.zone)), call.zone), end
    if period.start >= end:
        raise invalid_argument("from", f"is in the future. Today is {call.today.isoformat()}.")
    return period.start, end


def _figure(name: str, value: float | None, previous: float | None) -> dict[str, Json]:
    figure = FIGURES[name]
    places = PLACES.get(figure.unit, 0)
    shown = {"metric": name, "unit": figure.unit, "value": _round_value(value, places)}
    if value is not None and previous is not None:
        shown["previous"] = _round_value(previous, places)
        shown["change"] = _round_value(value - previous, places)
        shown["change_ratio"] = round((value - previous) / previous, 4) if previous else None
    return {**shown, "better": figure.better, "definition": figure.definition}


def _round_value(value: float | None, places: int) -> float | None:
    if value is None:
        return None
    return round(value, places) if places else round(value)


def _comparison_hints(call: DataToolCall, period: QueryPeriod) -> list[str]:
    if period.start is None:
        return ["A period without a start has none before it to compare with."]
    is_over = period.end is not None and period.end <= call.now
    return [] if is_over else [NOT_OVER]


def _check_points(start: datetime, end: datetime, unit: Unit) -> None:
    """Raises ValidationFailure for more points than a result has room for."""
    points = activity.number_of(unit, start, end)
    if points > MAX_POINTS:
        coarser = [one for one in Unit if activity.number_of(one, start, end) <= MAX_POINTS]
        instead = f"Use {coarser[0]}." if coarser else "Narrow the period."
        raise invalid_argument("bucket", f"{points} points, at most {MAX_POINTS}. {instead}")


def _point(call: DataToolCall, unit: Unit, part: Interval, value: int) -> dict[str, Json]:
    hour = part.start.astimezone(call.zone).isoformat(timespec="minutes")
    return {
        "start": hour if unit is Unit.HOUR else part.first.isoformat(),
        "value": value,
        "complete": None if part.is_complete else False,
    }


def _summary(metric: str, points: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """About the points that are over. Different people do not add up, so they have no total."""
    over = [point for point in points if point["complete"] is None]
    if not over:
        return {}
    values = [point["value"] for point in over]
    return {
        "points": len(over),
        "total": None if metric == "active_users" else sum(values),
        "mean": round(fmean(values), 2),
        "highest": max(over, key=lambda point: point["value"]),
        "lowest": min(over, key=lambda point: point["value"]),
    }


def _nothing(call: DataToolCall, metric: str) -> str:
    noun = metric.replace("_", " ")
    found = activity.first_of(call.access, metric)
    if found is None:
        return f"No {noun} were ever recorded."
    return f"No {noun} in this period; the first was at {call.when(found)}."


@TOOLSET.skill(
    title="Read key figures",
    description=(
        "Answers questions about MRR, churn, tickets and response times from the key figures of "
        "the workspace. Use it when somebody asks how the business does, or for a report."
    ),
)
def read_key_figures() -> Mapping[str, str]:
    tools = "\n".join(f"- {tool.name}: {tool.description}" for tool in TOOLSET.tools)
    return {
        "SKILL.md": READ_FIGURES.format(plan=guidance.plan_form(tools)),
        **docs.reference_files("metrics", "data-tools"),
    }
