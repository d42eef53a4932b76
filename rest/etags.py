"""Strong entity tags of resources (RFC 9110 section 8.8.3), and the conditions that name them."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

import orjson

from rest.errors import ApiError

TAG: Final = re.compile(r'(?:W/)?"[!#-~]*"')


def compute_tag(resource: Mapping[str, Any], version: int) -> str:
    """Returns the tag of a resource as it is answered; each version of its row has another."""
    packed = orjson.dumps([version, resource], option=orjson.OPT_SORT_KEYS, default=str)
    return f'"{hashlib.sha256(packed).hexdigest()[:32]}"'


def has_tag(header: str, tag: str) -> bool:
    """Returns whether If-None-Match names a tag; the comparison is weak, as RFC 9110 has it."""
    if header.strip() == "*":
        return True
    return tag in {one.removeprefix("W/") for one in TAG.findall(header)}


def require_match(header: str, tag: str) -> None:
    """Raises ApiError if If-Match does not name this tag, exactly and alone."""
    if header.strip() != tag:
        message = "The record has changed. Read it again and send its ETag as If-Match."
        raise ApiError(412, message, headers={"ETag": tag})
