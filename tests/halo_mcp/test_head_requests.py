"""HEAD is answered as GET is, without its body (RFC 9110 section 9.3.2), on every API."""

import pytest

from tests.drivers import in_process_server

PATHS = [
    *("/aap/meta", "/aap/sessions", "/aap/session", "/aap/session/x", "/aap/nothing"),
    *("/api/mcp/server-card", "/prj_7C9pejl89huiXSkU4EEvLA", "/w/demo/api/mcp"),
    *("/w/demo/api/v1/whoami", "/w/demo/api/v1/openapi.json", "/w/demo/auth.md"),
    *("/api/sdk/openapi.json", "/api/sdk/events", "/api/mcp/oauth/token", "/register"),
    *("/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource"),
    *("/health", "/docs/", "/nothing"),
]


@pytest.mark.django_db
@pytest.mark.parametrize("path", PATHS)
def test_the_response_to_head_is_that_to_get_without_its_body(path: str) -> None:
    headers = [("host", "testserver")]
    got, get_headers, body = in_process_server.request("GET", path, headers, b"")
    status, head_headers, sent = in_process_server.request("HEAD", path, headers, b"")
    assert body
    assert (status, sent) == (got, b"")
    for name in ("content-type", "content-length", "allow", "www-authenticate"):
        assert head_headers.get(name) == get_headers.get(name), name


@pytest.mark.django_db
def test_head_of_the_mcp_endpoint_has_the_challenge_and_no_body() -> None:
    # GET is the description of the server. Clients look for the challenge with HEAD.
    status, headers, sent = in_process_server.request(
        "HEAD", "/api/mcp", [("host", "testserver")], b""
    )
    assert (status, sent) == (401, b"")
    assert headers["www-authenticate"].startswith("Bearer ")
