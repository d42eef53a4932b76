"""Which pages have threads of their own.

Whoever signs in, exchanges a token or discovers the server never waits for other pages. And pages
that may wait for another server leave the threads of all others alone; what waits on any other page
is a job (`foundation/concurrency/job_threads.py`).
"""

import re
from typing import Final

from django.conf import settings

from halo_mcp.server.wsgi_bridge import OwnThreads

SIGN_IN: Final = re.compile(
    r"/signin(?:/.*)?|/signout"
    r"|(?:/api/mcp)?/oauth/(?:token|revoke)/?|/token/?|(?:/api/mcp/oauth)?/register/?"
    r"|(?:/w/[^/]+)?(?:/api/mcp)?(?:/prj_[^/]+)?/(?:\.well-known/.*|server-card/?)"
)
# The metadata document of a client may have to be fetched: `oauth/clients/cimd/resolving.py` lets
# fetches hold half of these threads.
AUTHORIZATION: Final = re.compile(r"(?:/api/mcp)?/oauth/authorize/?")
# A tool of an integration waits for its vendor: `console/ask/calling.py` lets calls hold half.
CALLS: Final = re.compile(r"/ask/.*")
# A document is read again before it is saved, in a process of its own that may take long: a session
# holds two of these threads, and `importing.hold_page` lets a person and an organization read one.
DOCUMENTS: Final = re.compile(r"/projects/imports/.*|/admin/gateway/project/add/")
# What starts jobs: hundreds of them at once wait for each other only, and most are refused ahead of
# Django, since a person has one job at a time.
STARTS: Final = re.compile(
    r"/projects/new|/projects/[^/]+/credentials/test|/requests/[^/]+/approve"
    r"|/admin/approvals/approvalrequest/[^/]+/approve/|/admin/agents/languagemodel/"
    r"|/admin/tools_registry/integrationmode/[^/]+/[^/]+/connect/"
)
HALF: Final = max(1, settings.HALO_CORE_THREADS // 2)

POOLS: Final = (
    OwnThreads("sign_in", settings.HALO_CORE_THREADS, SIGN_IN),
    OwnThreads("authorization", settings.HALO_CORE_THREADS, AUTHORIZATION),
    OwnThreads("calls", settings.HALO_CORE_THREADS, CALLS),
    OwnThreads("documents", HALF, DOCUMENTS, of_session=2),
    OwnThreads("starts", HALF, STARTS, of_session=4),
)
