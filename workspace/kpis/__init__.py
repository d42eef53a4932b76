"""Key figures of an organization, their daily snapshots, and curves of activity."""

from workspace.kpis.figures import FIGURES
from workspace.kpis.snapshots import refresh, refresh_all
from workspace.kpis.values import values

__all__ = ["FIGURES", "refresh", "refresh_all", "values"]
