"""Blocks with an image: at an https address, or in the block, as base64 with its media type."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from foundation.outbound import OutboundError, vet

MAX_URL: Final = 2_000
# Of the data: about what providers take.
MAX_BYTES: Final = 5_000_000
DATA_URL: Final = re.compile(r"data:([a-z]+/[a-z0-9.+-]+);base64,(.*)", re.DOTALL)
# What all providers take, and how files of each type begin.
TYPES: Final[Mapping[str, Callable[[bytes], bool]]] = {
    "image/png": lambda data: data.startswith(b"\x89PNG\r\n\x1a\n"),
    "image/jpeg": lambda data: data.startswith(b"\xff\xd8\xff"),
    "image/gif": lambda data: data.startswith((b"GIF87a", b"GIF89a")),
    "image/webp": lambda data: data.startswith(b"RIFF") and data[8:12] == b"WEBP",
}


class InvalidImage(Exception):
    """The block is refused; the message is a sentence for the client's developer."""


def image_url(block: Mapping[str, Any]) -> str:
    """Returns the https: or data: URL of an image. Raises InvalidImage if no provider reads it."""
    if "data" in block and "mimeType" in block:
        url = f"data:{block['mimeType']};base64,{block['data']}"
    elif "url" in block:
        url = block["url"]
    else:
        raise InvalidImage("an image has a url, or mimeType and data.")
    if not url.startswith("data:"):
        _check_address(url)
    elif (parts := DATA_URL.fullmatch(url)) is not None:
        _check_data(*parts.groups())
    else:
        raise InvalidImage("a data: URL must be data:<media type>;base64,<data>.")
    return str(url)


def _check_data(media_type: str, text: str) -> None:
    is_of_type = TYPES.get(media_type)
    if is_of_type is None:
        raise InvalidImage(f"the media type must be one of: {', '.join(TYPES)}.")
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidImage("the data is not valid base64.") from None
    if len(data) > MAX_BYTES:
        raise InvalidImage(f"the image is larger than {MAX_BYTES} bytes.")
    if not is_of_type(data):
        raise InvalidImage(f"the data is not of the type {media_type}.")


def _check_address(url: str) -> None:
    """The provider reads it, so it must be public."""
    if not url.startswith("https://") or len(url) > MAX_URL:
        message = f"the url must be https: or data:, and an address at most {MAX_URL} long."
        raise InvalidImage(message)
    try:
        vet(url)
    except (OutboundError, ValueError):
        raise InvalidImage("the url is not one of the public internet.") from None
