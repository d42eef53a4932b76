"""Which threads answer which path: nobody waits at the door for a page that waits."""

import asyncio
import re
from collections.abc import Callable, Iterator

import httpx2
import pytest
from django.test import Client
from django.urls import URLPattern, get_resolver, reverse

from foundation import outbound
from foundation.concurrency.page_threads import PageWaitsForOutside
from foundation.outbound import Policy
from foundation.outbound.async_transport import GuardedTransport
from halo_mcp import mounts
from halo_mcp.server.page_pools import AUTHORIZATION, CALLS, POOLS, SIGN_IN
from tests.drivers.grants import Grant

SAMPLES = {
    "uuid": "0190c1d2-0000-7000-8000-000000000000",
    "str": "a",
    "slug": "a",
    "project": "prj_7C9pejl89huiXSkU4EEvLA",
}
CONVERTER = re.compile(r"<(\w+):\w+>")


def waiting_paths() -> Iterator[str]:
    """A path of each view that may wait for another server."""
    for pattern in get_resolver().url_patterns:
        if isinstance(pattern, URLPattern) and getattr(pattern.callback, "may_wait", False):
            yield "/" + CONVERTER.sub(lambda found: SAMPLES[found[1]], str(pattern.pattern))


def test_every_view_that_may_wait_has_threads_of_its_own_behind_asgi() -> None:
    waiting = {*waiting_paths()}
    assert {"/oauth/authorize", f"/ask/{SAMPLES['uuid']}/a", "/api/mcp"} <= waiting
    # Surfaces are answered ahead of Django.
    rest = {path for path in waiting if mounts.find(mounts.SURFACES, "", path) is None}
    own = {path for path in rest if AUTHORIZATION.fullmatch(path) or CALLS.fullmatch(path)}
    assert rest == own


@pytest.mark.parametrize(
    "path",
    [
        *("/signin", "/signin/code", "/signin/passkey", "/signout"),
        *(
            "/oauth/token",
            "/api/mcp/oauth/token",
            "/api/mcp/oauth/token/",
            "/oauth/revoke",
            "/token",
        ),
        *("/register", "/api/mcp/oauth/register"),
        "/.well-known/oauth-authorization-server",
        "/api/mcp/.well-known/oauth-protected-resource",
        "/w/acme/api/mcp/.well-known/oauth-protected-resource",
        "/prj_x/.well-known/oauth-protected-resource",
        *("/api/mcp/server-card", "/prj_x/server-card", "/w/acme/api/mcp/server-card"),
    ],
)
def test_sign_in_tokens_and_discovery_have_threads_of_their_own(path: str) -> None:
    assert [pool.name for pool in POOLS if pool.paths.fullmatch(path)] == ["sign_in"]


@pytest.mark.parametrize(
    "path", ["/projects", "/requests", "/admin/", "/docs/signin", "/healthy", "/signinx"]
)
def test_other_pages_have_none(path: str) -> None:
    assert not SIGN_IN.fullmatch(path)
    assert not any(pool.paths.fullmatch(path) for pool in POOLS)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("project_new", ()),
        ("project_credentials_test", (SAMPLES["project"],)),
        ("approval_request_approve", (SAMPLES["uuid"],)),
        ("admin:approvals_approvalrequest_approve", (SAMPLES["uuid"],)),
        ("admin:agents_languagemodel_changelist", ()),
        ("admin:tools_registry_integrationmode_connect", (SAMPLES["uuid"], "stripe")),
    ],
)
def test_what_starts_jobs_has_threads_of_its_own(name: str, parts: tuple[str, ...]) -> None:
    path = reverse(name, args=parts)
    assert [pool.name for pool in POOLS if pool.paths.fullmatch(path)] == ["starts"]


def fetch(url: str) -> None:
    outbound.fetch("GET", url)


def stream(url: str) -> None:
    async def read() -> None:
        transport = GuardedTransport(lambda _url: Policy())
        async with httpx2.AsyncClient(transport=transport, trust_env=False) as client:
            await client.get(url)

    asyncio.run(read())


@pytest.mark.parametrize("send", [fetch, stream])
def test_u10_a_page_cannot_send_a_request_to_another_server(
    grant: Grant, monkeypatch: pytest.MonkeyPatch, send: Callable[[str], None]
) -> None:
    monkeypatch.setattr("console.views.render", lambda *_: send("https://api.example/"))
    browser = Client()
    browser.force_login(grant.user)
    with pytest.raises(PageWaitsForOutside):
        browser.get("/")
