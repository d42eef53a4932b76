"""The MCP Apps that a tool can name, by URI; no Django. What each shows: docs/mcp-endpoint.md."""

from typing import Final

# A request for approval or a prepared change. Reads `difference`, or `status` and `_meta.approval`.
APPROVAL_CARD: Final = "ui://halo/approval"
# A series of figures. Reads `items` with `start`, `value` and `complete`.
FIGURES_PLOT: Final = "ui://halo/figures"
# Absences by day. Reads `data` with `person_id`, `start_date`, `end_date` and `status_code`.
TIME_OFF_CALENDAR: Final = "ui://halo/time-off"
