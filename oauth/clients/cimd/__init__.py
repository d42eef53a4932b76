"""Clients that are identified by the https URL of their own metadata document.

`resolve(client_id, asker=..., address=...)` returns the Client or raises InvalidClient or
ServerBusy. Only authorization requests call it: the token endpoint uses the stored row and never
fetches. Source: MCP 2026-07-28, authorization/client-registration, "Client ID Metadata Documents",
and the draft it names, draft-ietf-oauth-client-id-metadata-document-00 ("the draft" below).
"""

from oauth.clients.cimd.client_url import is_metadata_url
from oauth.clients.cimd.resolving import needs_fetch, resolve

__all__ = ["is_metadata_url", "needs_fetch", "resolve"]
