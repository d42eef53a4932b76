"""Settings of HR records, which `settings.py` includes."""

from halo_mcp import env

# Records of people that AI clients of one organization are answered within 24 hours.
HALO_HR_DAILY_ROWS = env.integer("HALO_HR_DAILY_ROWS", 500, least=0, most=1_000_000)
# Whether people may approve changes over MCP: "enabled", or anything else for not.
HALO_HR_WRITE_MODE = env.text("HALO_HR_WRITE_MODE", "disabled")
