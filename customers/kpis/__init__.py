"""Key figures of an organization, their daily snapshots, and curves of activity."""

from customers.kpis.durations import Span
from customers.kpis.figures import ALL_FIGURES, FIGURES
from customers.kpis.revenue import GROUPED, list_groups
from customers.kpis.snapshots import record_accounts, refresh, refresh_all, refresh_changed
from customers.kpis.values import Amounts, FigureValue, values

__all__ = [
    "ALL_FIGURES",
    "FIGURES",
    "GROUPED",
    "Amounts",
    "FigureValue",
    "Span",
    "list_groups",
    "record_accounts",
    "refresh",
    "refresh_all",
    "refresh_changed",
    "values",
]
