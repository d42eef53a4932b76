"""Settings of the Agent Application Protocol, which `settings.py` includes."""

from halo_mcp import env
from halo_mcp.setting_groups.deployment import LOCAL_HOSTS

# Where the protocol is served, without a slash at the end.
HALO_AGENTS_PATH = env.path("HALO_AGENTS_PATH", "/aap")
# Whether the agents are listed for anyone.
HALO_AGENTS_PUBLIC_META = env.flag("HALO_AGENTS_PUBLIC_META", default=False)
# Threads for what turns do with the database and with tools; a turn that waits has none.
HALO_AGENT_THREADS = env.integer("HALO_AGENT_THREADS", 4, least=1, most=256)
# The origins of pages that may read the answers; "*" for all. Only a key lets anyone in.
HALO_AGENTS_ORIGINS = (
    ["*"] if env.text("HALO_AGENTS_ORIGINS") == "*" else env.origins("HALO_AGENTS_ORIGINS")
)
# Hosts of language models that may be in a private network and without https: host, or host:port.
# By default the computer itself, if nobody else reaches this server.
HALO_AGENTS_PRIVATE_HOSTS = env.private_hosts("HALO_AGENTS_PRIVATE_HOSTS", *LOCAL_HOSTS)
HALO_RATE_AGENTS = env.rate("HALO_RATE_AGENTS", "120/m")
