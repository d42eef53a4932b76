"""Reads request bodies as strict JSON, and answers JSON whatever the client accepts."""

from collections.abc import Mapping
from typing import Any, Final

from django.conf import settings
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser

from foundation.db.storable import unstorable_place
from mcp_protocol import strict_json
from mcp_protocol.errors import ProtocolError
from rest.errors import ApiError, field_error

# A thousand customers with a hundred traits each.
MAX_VALUES: Final = 200_000


class StrictJson(BaseParser):
    """JSON without what two parsers might read differently (mcp_protocol/strict_json.py)."""

    media_type = "application/json"

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,  # noqa: ARG002  the framework's signature
        parser_context: Mapping[str, Any] | None = None,  # noqa: ARG002
    ) -> Any:
        """Raises ApiError; a body that is too large is not read completely."""
        limit = settings.HALO_MAX_BODY_BYTES
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise field_error(413, "", f"Send at most {limit} bytes.")
        try:
            found = strict_json.parse(body, MAX_VALUES)
        except ProtocolError as problem:
            raise ApiError(400, str(problem)) from None
        # Here, because an error that repeats the text could not be encoded either.
        place = unstorable_place(found)
        if place is not None:
            raise field_error(400, place, "The text contains NUL or a lone surrogate.")
        return found


class JsonOnly(DefaultContentNegotiation):
    """Answers JSON, whatever the request accepts."""

    def select_renderer(self, _request: Any, renderers: Any, _format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type
