"""How long each kind of data is kept, in days, which `settings.py` includes. With 0, for ever."""

from halo_mcp import env

# PCI DSS 4.0 (10.5.1) requires a year of audit history; 400 days leave a month to read it.
HALO_AUDIT_RETENTION_DAYS = env.integer("HALO_AUDIT_RETENTION_DAYS", 400, most=env.MAX_DAYS)
# What an organization records about its customers (customers/privacy/retention.py).
HALO_RETENTION_EVENTS_DAYS = env.integer("HALO_RETENTION_EVENTS_DAYS", 0, most=env.MAX_DAYS)
HALO_RETENTION_MESSAGES_DAYS = env.integer("HALO_RETENTION_MESSAGES_DAYS", 0, most=env.MAX_DAYS)
HALO_RETENTION_CONVERSATIONS_DAYS = env.integer(
    "HALO_RETENTION_CONVERSATIONS_DAYS", 0, most=env.MAX_DAYS
)
HALO_RETENTION_TICKETS_DAYS = env.integer("HALO_RETENTION_TICKETS_DAYS", 0, most=env.MAX_DAYS)
HALO_RETENTION_FEEDBACK_DAYS = env.integer("HALO_RETENTION_FEEDBACK_DAYS", 0, most=env.MAX_DAYS)
# Sessions of agents, from their last turn on (agents/retention.py).
HALO_RETENTION_AGENT_SESSIONS_DAYS = env.integer(
    "HALO_RETENTION_AGENT_SESSIONS_DAYS", 90, most=env.MAX_DAYS
)
# Requests for approval that have ended, as long as the audit rows that name them.
HALO_RETENTION_APPROVALS_DAYS = env.integer("HALO_RETENTION_APPROVALS_DAYS", 400, most=env.MAX_DAYS)
# Authorizations, tokens and keys, from their end on, and then clients without an authorization
# (oauth/grants/cleanup.py).
HALO_RETENTION_CREDENTIALS_DAYS = env.integer(
    "HALO_RETENTION_CREDENTIALS_DAYS", 400, most=env.MAX_DAYS
)
# For how long ids and addresses of erased customers are refused (customers/privacy/suppression.py).
HALO_ERASED_PEOPLE_DAYS = env.integer("HALO_ERASED_PEOPLE_DAYS", 365, most=env.MAX_DAYS)
HALO_RETENTION_LEADS_DAYS = env.integer("HALO_RETENTION_LEADS_DAYS", 0, most=env.MAX_DAYS)
