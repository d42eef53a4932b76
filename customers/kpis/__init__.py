"""Key figures of an organization, their daily snapshots, and curves of activity."""

from customers.kpis.figures import FIGURES
from customers.kpis.snapshots import refresh, refresh_all
from customers.kpis.values import values

__all__ = ["FIGURES", "refresh", "refresh_all", "values"]
