"""Public documents of a workspace's endpoint: its metadata, and how to get access.

Both are the same whether the workspace exists or not, and made from the same facts.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse

from oauth import addresses
from oauth.endpoints import replies
from people import hosts
from people.mcp import contract, surface, writes

CHANGES = """A change takes two steps. prepare_api_write shows what it would change, and answers a
token for five minutes. commit_api_write asks the person by form elicitation and makes the
change once they approve. A client that cannot ask, and a person who declines, change
nothing. The key needs `mcp:write` and the scope of the operation."""
NO_CHANGES = "Changes over MCP are turned off on this server."
CACHED = {"Cache-Control": "public, max-age=300", "Vary": "Host"}


def scopes_supported() -> list[str]:
    """Returns the scopes of the operations that can be run over MCP now."""
    operations = [one for one in contract.EXPOSED.values() if one.is_read or writes.are_on()]
    found = {one.scope for one in operations if one.scope}
    return sorted(found | ({writes.SCOPE} if writes.are_on() else set()))


@replies.accepts("GET", "HEAD")
def metadata(request: HttpRequest, workspace: str) -> HttpResponse:
    """Returns the metadata of the resource (RFC 9728); without an issuer, keys are the only way."""
    document: dict[str, Any] = {
        "resource": _resource(request, workspace),
        "authorization_servers": [],
        "scopes_supported": scopes_supported(),
        "bearer_methods_supported": ["header"],
        "resource_name": surface.SERVER.title,
        "resource_documentation": _resource(request, workspace).removesuffix("api/mcp") + "auth.md",
    }
    return JsonResponse(document, headers=CACHED)


@replies.accepts("GET", "HEAD")
def access(request: HttpRequest, workspace: str) -> HttpResponse:
    """Returns how programs and people get access, for both to read."""
    resource = _resource(request, workspace)
    described = hosts.metadata(request.get_host(), workspace)
    scopes = "\n".join(f"- `{scope}`" for scope in scopes_supported())
    how = CHANGES if writes.are_on() else NO_CHANGES
    text = f"""# Access to HollyHR

- Access mode: API keys as bearer. OAuth is not configured.
- MCP endpoint: {resource}
- Protected resource metadata: {described}
- REST API: {resource.removesuffix("mcp")}v1

An admin of the organization makes an API key at {addresses.url("/api-keys")} and
chooses its scopes. Send it as `Authorization: Bearer hhr_live_...`; a key that begins
with `hhr_test_` sees a sandbox. A client that begins to sign in instead
cannot finish: remove the server there, and add it again with the key as a header.

## Scopes of the MCP endpoint

{scopes}

## Changes

{how}

## Data

Answers have the fields that were reviewed for AI clients only:
never home addresses, pay, bank or tax data, reasons of absences, days of sickness, or links.
Records of people have a budget for 24 hours.
"""
    return HttpResponse(text, content_type="text/markdown; charset=utf-8", headers=CACHED)


def _resource(request: HttpRequest, workspace: str) -> str:
    return hosts.resource(request.get_host(), workspace)
