"""Reads the body of a response within its size limit."""

import zlib
from collections.abc import Iterable, Iterator, Mapping

from foundation.outbound.errors import ResponseTooLarge, Unreachable

GZIP_WINDOW = 16 + zlib.MAX_WBITS  # zlib's wbits value for the gzip format


def collect(
    chunks: Iterable[bytes], headers: Mapping[str, str], *, host: str, max_bytes: int
) -> bytes:
    """Returns the decoded body. Raises ResponseTooLarge beyond `max_bytes`, encoded or decoded.

    Raises Unreachable for an encoding that was not requested, or invalid gzip (RFC 9110 §8.4.1).
    """
    sent = _limit_bytes(chunks, host, max_bytes)
    coding = headers.get("content-encoding", "identity").strip().lower()
    if coding == "identity":
        return b"".join(sent)
    if coding not in {"gzip", "x-gzip"}:
        raise Unreachable(host, "the answer has a content coding that was not asked for")
    return b"".join(_limit_bytes(_inflate_chunks(sent, host, max_bytes), host, max_bytes))


def _limit_bytes(chunks: Iterable[bytes], host: str, max_bytes: int) -> Iterator[bytes]:
    total = 0
    for chunk in chunks:
        total += len(chunk)
        if total > max_bytes:
            raise ResponseTooLarge(host, "the answer is too large")
        yield chunk


def _inflate_chunks(chunks: Iterable[bytes], host: str, max_bytes: int) -> Iterator[bytes]:
    inflater = zlib.decompressobj(GZIP_WINDOW)
    began = False
    try:
        for chunk in chunks:
            began = True
            # Decompression stops one byte beyond the limit, so a decompression bomb is not
            # unpacked.
            yield inflater.decompress(chunk, max_bytes + 1)
    except zlib.error:
        raise Unreachable(host, "the answer is no valid gzip") from None
    if began and (not inflater.eof or inflater.unused_data):
        raise Unreachable(host, "the answer is no single, complete gzip member")
