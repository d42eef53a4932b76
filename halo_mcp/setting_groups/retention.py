"""How long each kind of data is kept, in days, which `settings.py` includes. With 0, for ever."""

from halo_mcp import env

# PCI DSS 4.0 (10.5.1) requires a year of audit history; 400 days leave a month to read it.
HALO_AUDIT_RETENTION_DAYS = env.integer("HALO_AUDIT_RETENTION_DAYS", 400)
# What an organization records about its customers (workspace/privacy/retention.py).
HALO_RETENTION_EVENTS_DAYS = env.integer("HALO_RETENTION_EVENTS_DAYS", 0)
HALO_RETENTION_MESSAGES_DAYS = env.integer("HALO_RETENTION_MESSAGES_DAYS", 0)
HALO_RETENTION_CONVERSATIONS_DAYS = env.integer("HALO_RETENTION_CONVERSATIONS_DAYS", 0)
HALO_RETENTION_TICKETS_DAYS = env.integer("HALO_RETENTION_TICKETS_DAYS", 0)
HALO_RETENTION_FEEDBACK_DAYS = env.integer("HALO_RETENTION_FEEDBACK_DAYS", 0)
# Sessions of agents, from their last turn on (agents/tasks.py).
HALO_RETENTION_AGENT_SESSIONS_DAYS = env.integer("HALO_RETENTION_AGENT_SESSIONS_DAYS", 90)
HALO_RETENTION_LEADS_DAYS = env.integer("HALO_RETENTION_LEADS_DAYS", 0)
