"""Django's WSGI handler, with a safe encoding for every request.

Django decodes the query with the codec that the client names in `charset`, before it can respond to
an error. Python has codecs that are no text encodings (`zip`, `hex`) and some that refuse most text
(`idna`); they would cause a 500 without a page.
"""

from typing import Any

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.utils.http import parse_header_parameters


class LenientRequest(WSGIRequest):
    """A request that is decoded as UTF-8, or as Latin-1, which can decode any bytes.

    JSON and forms are UTF-8 whatever their type says (RFC 8259 section 8.1; WHATWG URL, 5.1); a
    parser refuses a form that declares another encoding.
    """

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        try:
            kind, parameters = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        except (LookupError, ValueError):  # RFC 2231 lets a parameter name a codec of its own
            kind, parameters = "", {}
        self.content_type, self.content_params = kind, parameters
        if parameters.get("charset", "utf-8").lower() not in {"utf-8", "utf8"}:
            self._encoding = "latin-1"


class Handler(WSGIHandler):
    request_class = LenientRequest
