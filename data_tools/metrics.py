"""data_query_metrics and data_query_activity_time_series: figures of the whole workspace."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from statistics import fmean
from typing import Annotated, Final, Literal

from customers import kpis
from customers.kpis import ALL_FIGURES, FIGURES, GROUPED, Amounts, FigureValue, Span, activity, days
from customers.kpis.activity import METRICS, Beginning, Interval
from customers.kpis.days import Unit
from data_tools.query import (
    LAST_30_DAYS,
    CompanyName,
    DataToolCall,
    QueryPeriod,
    TimeRange,
    comparison,
    data_tool,
    groups,
    invalid_argument,
    number_limits,
    one_of,
    periods,
    results,
    texts,
    who,
)
from data_tools.query.comparison import Comparison
from tools_registry.api import Facts, Json, Keywords, Toolset, ValidationFailure
from tools_registry.api.apps import FIGURES_PLOT
from tools_registry.sources import docs, guidance

TOOLSET: Final = Toolset(scope="data:read", title="Metrics")

MAX_POINTS: Final = 400
UNITS: Final = (Unit.HOUR, Unit.DAY, Unit.WEEK, Unit.MONTH)
# Decimal places of a value, by unit.
PLACES: Final = {"ratio": 4, "minutes": 1, "points of 100": 1, "money": 2}
READ_FIGURES: Final = """\
# Read key figures

{plan}

`references/metrics.md` defines each figure, and `references/data-tools.md` has the arguments.
"""
WITHIN: Final = "_within_rate"
# What is in the change of a revenue or a health score.
WITH_AMOUNTS: Final = "customers who came or left, and changes of their amounts"
WITHOUT_AMOUNTS: Final = "customers who came or left; changes of their amounts are not known"
NOT_COMPARABLE: Final = (
    "no previous value: amounts were recorded at the end of one of both periods only."
)
GROUPS_DIFFER: Final = "groups have present amounts, while its value was recorded in the past."
NO_VALUE: Final = "no value, nothing to divide by in the period."
NOT_OVER: Final = "The period is not over, so the one before is counted up to the same time of day."


@data_tool(
    TOOLSET,
    title="Query key figures",
    description=(
        "Key figures such as MRR, churn, tickets and response times, against the period before; "
        "by name also percentiles, shares in time, paying customers, lost MRR and good ratings. "
        "Curves over time: data_query_activity_time_series."
    ),
    result=results.schema(
        items=results.LIST,
        returned=results.WHOLE,
        groups=results.LIST,
        other={"type": "number"},
        currency=results.TEXT,
        period=results.OBJECT,
        previous_period=results.OBJECT,
    ),
)
def data_query_metrics(
    call: DataToolCall,
    *,
    metric: Annotated[str, one_of(*ALL_FIGURES, description=f"The first {len(FIGURES)} without it")]
    | None = None,
    time: TimeRange = LAST_30_DAYS,
    compare: Comparison | Literal["none"] = "previous_period",
    group_by: Annotated[
        Literal["plan", "industry"], Keywords(description=f"For {', '.join(GROUPED)}")
    ]
    | None = None,
    within_minutes: Annotated[
        int, number_limits(1, 525_600), Keywords(description="For the _within_rate metrics")
    ] = 1440,
) -> Facts:
    names = list(FIGURES) if metric is None else [metric]
    if group_by is not None and metric not in GROUPED:
        raise invalid_argument("group_by", f"send it with a metric of {', '.join(GROUPED)}.")
    if "within_minutes" in call.given and (metric is None or not metric.endswith(WITHIN)):
        reason = f"send it with a metric of {', '.join(_list_timed_figures())}."
        raise invalid_argument("within_minutes", reason)
    period = periods.from_call(call, time)
    start, end = _bounds(call, period)
    previous = None if compare == "none" else comparison.find_compared_period(call, period, compare)
    span = Span(start, end, call.now, timedelta(minutes=within_minutes))
    now = kpis.values(call.access, call.zone, span, names)
    then: Mapping[str, FigureValue] = {}
    if previous is not None and previous.start and previous.end:
        earlier = replace(span, start=previous.start, end=previous.end)
        then = kpis.values(call.access, call.zone, earlier, names)
    found = _groups(call, span, metric, group_by) if metric and group_by else {}
    hints = [] if compare == "none" else _comparison_hints(call, period)
    return results.answer(
        call,
        items=[_figure(call, name, now[name], then.get(name)) for name in names],
        returned=len(names),
        rows=len(names),
        **found,
        currency=call.organization.currency,
        period=replace(period, start=start).describe(call, ""),
        previous_period=previous and previous.describe(call, ""),
        searched={} if metric and metric.endswith(WITHIN) else {"within_minutes": None},
        hints=[*hints, *(hint for name in names for hint in _hints(name, now, then, group_by))],
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
    bucket: Annotated[
        Unit,
        one_of(*(Unit.DAY, Unit.HOUR, Unit.WEEK, Unit.MONTH), description="Coarser if too many"),
    ] = Unit.DAY,
    company: CompanyName | None = None,
    time: TimeRange = LAST_30_DAYS,
) -> Facts:
    of_company = who.find_row(call, who.COMPANIES, company)
    company_id = of_company.pk if of_company else ""
    period = periods.from_call(call, time)
    curve = _plan_curve(call, period, bucket, metric, company_id)
    parts = activity.intervals(curve.unit, call.zone, curve.start, curve.end)
    values = activity.series(
        call.access, call.zone, metric, unit=curve.unit, parts=parts, company=company_id
    )
    points = [
        _point(call, curve.unit, part, value) for part, value in zip(parts, values, strict=True)
    ]
    return results.answer(
        call,
        items=points,
        returned=len(points),
        rows=len(points),
        summary=_summary(metric, points),
        period=replace(period, start=curve.start).describe(call, ""),
        searched={"bucket": curve.unit, "company": who.reference(of_company)},
        hints=[
            *curve.hints,
            *([] if any(values) else [_explain_nothing(call, metric, company_id)]),
        ],
    )


@dataclass(frozen=True, slots=True)
class Curve:
    """The points that a result has room for, and what of the request was changed for it."""

    start: datetime
    end: datetime
    unit: Unit
    hints: Sequence[str] = ()


def _plan_curve(
    call: DataToolCall, period: QueryPeriod, unit: Unit, metric: str, company: str
) -> Curve:
    """The period and the bucket of a curve. Raises ValidationFailure.

    A period that begins long before the first row is cut. A bucket that the caller did not choose
    becomes as coarse as needed.
    """
    start, end = _bounds(call, period)
    hints = []
    if period.start is None or activity.number_of(unit, start, end) > MAX_POINTS:
        beginning = activity.find_beginning(call.access, metric, company)
        if beginning and start < beginning.start < end:
            if beginning.left_out and start <= beginning.first:
                hints.append(_describe_outliers(call, beginning))
            elif period.start is not None:
                hints.append(f"Nothing before the first, at {call.when(beginning.start)}: cut.")
            start = beginning.start
    coarser = [
        one
        for one in UNITS[UNITS.index(unit) :]
        if activity.number_of(one, start, end) <= MAX_POINTS
    ]
    chosen = unit
    if unit not in coarser:
        if not coarser or "bucket" in call.given:
            raise _too_many_points(call, start, end, unit, coarser)
        chosen = coarser[0]
        points = activity.number_of(unit, start, end)
        hints.append(f"Bucket {unit} has {points} points, at most {MAX_POINTS}: {chosen} is used.")
    if period.start is None:
        first = days.beginning(chosen, days.day_of(start, call.zone))
        start = days.midnight(first, call.zone)
    return Curve(start, end, chosen, hints)


def _describe_outliers(call: DataToolCall, beginning: Beginning) -> str:
    many, first = beginning.left_out, call.when(beginning.first)
    return (
        f"{many} left out, the first at {first}, long before the others, which begin at "
        f"{call.when(beginning.start)}."
    )


def _too_many_points(
    call: DataToolCall, start: datetime, end: datetime, unit: Unit, coarser: Sequence[Unit]
) -> ValidationFailure:
    points = activity.number_of(unit, start, end)
    if coarser:
        way_out = f"Use {coarser[0]}."
    else:
        earliest = days.day_of(end - activity.LENGTHS[Unit.MONTH] * (MAX_POINTS - 1), call.zone)
        way_out = f"Use month, and from {earliest.isoformat()} or later."
    return invalid_argument("bucket", f"{points} points, at most {MAX_POINTS}. {way_out}")


def _bounds(call: DataToolCall, period: QueryPeriod) -> tuple[datetime, datetime]:
    """The period as far as it is in the past; without a start, from the first recorded row on."""
    # An end is exclusive; a row of this very moment is counted.
    now = call.now + timedelta.resolution
    end = min(period.end or now, now)
    if period.start is None:
        first = min(activity.first_moment(call.access) or end, end) - timedelta.resolution
        return days.midnight(days.day_of(first, call.zone), call.zone), end
    if period.start >= end:
        raise invalid_argument("from", f"is in the future. Today is {call.today.isoformat()}.")
    return period.start, end


def _list_timed_figures() -> list[str]:
    return [name for name in ALL_FIGURES if name.endswith(WITHIN)]


def _figure(
    call: DataToolCall, name: str, now: FigureValue, then: FigureValue | None
) -> dict[str, Json]:
    figure = ALL_FIGURES[name]
    places = PLACES.get(figure.unit, 0)
    shown: dict[str, Json] = {
        "metric": name,
        "unit": figure.unit,
        "value": _round_value(now.value, places),
        **_describe_amounts(call, now, ""),
    }
    if then is not None and _are_comparable(now, then):
        if now.value is not None and then.value is not None:
            shown["previous"] = _round_value(then.value, places)
            shown["change"] = _round_value(now.value - then.value, places)
            change_ratio = (now.value - then.value) / then.value if then.value else None
            shown["change_ratio"] = _round_value(change_ratio, 4)
        shown |= _describe_amounts(call, then, "previous_")
        if then.amounts is not None:
            is_known = then.amounts is Amounts.RECORDED
            shown["change_includes"] = WITH_AMOUNTS if is_known else WITHOUT_AMOUNTS
    return {**shown, "better": figure.better, "definition": figure.definition}


def _describe_amounts(call: DataToolCall, value: FigureValue, prefix: str) -> dict[str, Json]:
    if value.amounts is None or value.amounts is Amounts.NOW:
        return {}
    return {f"{prefix}amounts": value.amounts, f"{prefix}as_of": call.when(value.as_of)}


def _are_comparable(now: FigureValue, then: FigureValue) -> bool:
    """Whether both values have amounts of their time, or both have present amounts."""
    return now.amounts is Amounts.NOW or now.amounts is then.amounts


def _hints(
    name: str,
    now: Mapping[str, FigureValue],
    then: Mapping[str, FigureValue],
    group_by: str | None,
) -> Iterator[str]:
    if now[name].value is None:
        yield f"{name}: {NO_VALUE}"
    if name in then and not _are_comparable(now[name], then[name]):
        yield f"{name}: {NOT_COMPARABLE}"
    if group_by and now[name].amounts is Amounts.RECORDED:
        yield f"{name}: {GROUPS_DIFFER}"


def _groups(call: DataToolCall, span: Span, metric: str, group_by: str) -> dict[str, Json]:
    """The amounts of plans or industries, the largest first, and that of all others."""
    places = PLACES.get(ALL_FIGURES[metric].unit, 0)
    found = groups.add_cases_up(kpis.list_groups(call.access, span, metric, group_by))
    shown, others = found[: groups.MAX_GROUPS], found[groups.MAX_GROUPS :]
    return {
        "groups": [
            {
                "value": texts.cut(value, groups.MAX_VALUE) if value else groups.NONE,
                metric: _round_value(amount, places),
            }
            for value, amount in shown
        ],
        "other": _round_value(sum(amount for _, amount in others), places) or None,
    }


def _round_value(value: float | None, places: int) -> float | None:
    if value is None:
        return None
    return round(value, places) if places else round(value)


def _comparison_hints(call: DataToolCall, period: QueryPeriod) -> list[str]:
    if period.start is None:
        return ["A period without a start has none before it to compare with."]
    is_over = period.end is not None and period.end <= call.now
    return [] if is_over else [NOT_OVER]


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


def _explain_nothing(call: DataToolCall, metric: str, company: str) -> str:
    noun = metric.replace("_", " ")
    found = activity.first_of(call.access, metric, company)
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
