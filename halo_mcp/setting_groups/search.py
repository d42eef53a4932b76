"""The settings of search by meaning and of the knowledge base, which `settings.py` includes."""

from halo_mcp import env

# What computes vectors and the final order of hits (retrieval/configured.py). An empty URL or model
# is the provider's own; a URL may be in a private network and without https.
HALO_EMBEDDER = env.choice("HALO_EMBEDDER", "offline", ("offline", "voyage", "openai"))
HALO_EMBEDDER_URL = env.base_url("HALO_EMBEDDER_URL")
HALO_EMBEDDER_MODEL = env.text("HALO_EMBEDDER_MODEL")
HALO_EMBEDDER_KEY = env.text("HALO_EMBEDDER_KEY")
HALO_RERANKER = env.choice("HALO_RERANKER", "offline", ("offline", "voyage", "none"))
HALO_RERANKER_URL = env.base_url("HALO_RERANKER_URL")
HALO_RERANKER_MODEL = env.text("HALO_RERANKER_MODEL")
HALO_RERANKER_KEY = env.text("HALO_RERANKER_KEY")
for _kind, _provider, _url, _key in (
    ("EMBEDDER", HALO_EMBEDDER, HALO_EMBEDDER_URL, HALO_EMBEDDER_KEY),
    ("RERANKER", HALO_RERANKER, HALO_RERANKER_URL, HALO_RERANKER_KEY),
):
    # A server of one's own may want none.
    if _provider not in {"offline", "none"} and not _url and not _key:
        raise env.refuse(f"HALO_{_kind}_KEY", f"is needed for HALO_{_kind}={_provider}")
# Megabytes of vectors that each process keeps in memory.
HALO_VECTOR_MEMORY = env.integer("HALO_VECTOR_MEMORY", 256, least=1, most=1_048_576)
# Web pages that one sitemap source may have.
HALO_SITEMAP_PAGES = env.integer("HALO_SITEMAP_PAGES", 200, least=1, most=5_000)
# Hosts in a private network that knowledge may be fetched from: host, or host:port if not 443.
HALO_KNOWLEDGE_PRIVATE_HOSTS = env.private_hosts("HALO_KNOWLEDGE_PRIVATE_HOSTS")
# Pages that accept larger uploads than the others, with the size of the request.
HALO_UPLOADS = {
    "/admin/workspace/knowledgesource/add/": 11 * 1_048_576,
    "/admin/workspace/dataimport/add/": 17 * 1_048_576,
    "/projects/new": 17 * 1_048_576,
}
FILE_UPLOAD_MAX_MEMORY_SIZE = 17 * 1_048_576
