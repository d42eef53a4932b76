"""Reads OpenAPI documents in this process.

In production each is read in a new process of Python, which spends nearly all of its time on
imports. Tests about that process use `read_in_a_process`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import orjson

from foundation import limited_process
from gateway.openapi import process
from gateway.openapi.documents import DocumentLimits

_run = limited_process.run


@contextmanager
def read_in_this_process() -> Iterator[None]:
    """What the reading process would write comes from the function that it calls."""

    def read(module: str, sent: bytes, *, seconds: float) -> bytes:
        if module != process.__name__:
            return _run(module, sent, seconds=seconds)
        limits, _line, content = sent.partition(b"\n")
        return process._answer(content, DocumentLimits(**orjson.loads(limits)))

    with patch.object(limited_process, "run", read):
        yield


@contextmanager
def read_in_a_process() -> Iterator[None]:
    """As deployed, within `read_in_this_process`."""
    with patch.object(limited_process, "run", _run):
        yield
