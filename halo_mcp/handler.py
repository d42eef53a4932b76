"""Django's WSGI handler, for requests whose media type is not what Django hopes for.

Django decodes the query in whatever codec a stranger names behind `charset`, before there is
anything that could answer an error. Python has codecs that are no text encodings (`zip`, `hex`)
and some that refuse most text (`idna`): each of them ended in a 500 without a page.
"""

from typing import Any

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.utils.http import parse_header_parameters


class Request(WSGIRequest):
    """A request that is read as UTF-8, or as the one other encoding that any byte has a letter in.

    JSON and forms are UTF-8 whatever their type says (RFC 8259 section 8.1; WHATWG URL, 5.1); a
    form that claims another encoding is refused by whoever reads it.
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
    request_class = Request
