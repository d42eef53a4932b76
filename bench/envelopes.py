"""`./run bench envelopes`: the cost of invalid bodies, by kind and size.

The fastest of several rounds counts; the rest is other load. Exits with 1 if it took 10 ms or
longer, for each message of a batch.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench import starting

if TYPE_CHECKING:
    from tools_registry.endpoint.http import HttpRequest

SIZES: Final = {"1 KB": 1_024, "64 KB": 65_536, "1 MiB": 2**20}
GOAL_MS: Final = 10.0
RAISED: Final = {f"HALO_RATE_{name}": "1000000/s" for name in ("TOOLS_LIST", "OTHER", "IP")}
SCOPE: Final = "docs:read setup:read data:read"

# A body is made of a beginning, something that is repeated up to its size, and an end.
KINDS: Final[Mapping[str, tuple[bytes, bytes, bytes]]] = {
    "cut off inside a text": (b'{"jsonrpc":"2.0","id":1,"method":"', b"a", b""),
    "cut off, of small values": (
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":[',
        b"0,",
        b"",
    ),
    "not UTF-8 at its end": (b'"', b"a", b'\xff"'),
    "a tower of brackets": (b"", b"[", b""),
    "a tower of objects": (b"", b'{"a":', b""),
    "equal keys": (b'{"jsonrpc":"2.0","id":1,"params":[', b'{"a":1},', b'{"b":1,"b":2}]}'),
    "equal keys, few values": (b'{"jsonrpc":"2.0","id":1,"a":"', b'b: \\", ', b'","b":1,"b":2}'),
    "small numbers": (b"[", b"0,", b"0]"),
    "small objects": (b"[", b'{"a":1},', b"0]"),
    "small texts": (b"[", b'"",', b"0]"),
    "long numbers": (b'{"a":[', b"12345678901234567890,", b"0]}"),
    "one endless number": (b"[", b"1", b"]"),
    "lone surrogates, no request": (b'{"a":"', b"\\ud800", b'"}'),
    "lone surrogates, cut off": (b'{"a":"', b"\\ud800", b""),
    "NaN at its end": (b'{"a":"', b"a", b'","b":NaN}'),
    "NaN behind escapes": (b'{"a":"', b'\\", ', b'","b":NaN}'),
    "white space": (b"", b" ", b""),
    "backslashes": (b"", b"\\", b""),
    "quotes": (b"", b'"', b""),
    "an object, no request": (b'{"a":"', b"a", b'"}'),
    "a request without a method": (
        b'{"jsonrpc":"2.0","id":1,"params":{"a":"',
        b'\\"b\\": ',
        b'"}}',
    ),
    "a batch of bad messages": (b"[", b"1,", b"1]"),
    "a batch of bad requests": (b"[", b'{"jsonrpc":"1.0","id":1},', b"1]"),
}


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        starting.start(Path(folder), f"sqlite:///{folder}/envelopes.sqlite3", RAISED)
        ask = _caller()
        rows = list(_rows(ask, options.rounds))
    sys.stdout.write("\n".join([*_serialized(rows), ""]))
    return 1 if any(whole >= GOAL_MS for _, cells in rows for _, whole in cells) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run bench envelopes", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    return parser.parse_args()


def _caller() -> Callable[[bytes], "HttpRequest"]:
    """Requests of a client with a token, as an edge hands them over."""
    from oauth import addresses, scopes  # noqa: PLC0415
    from oauth.clients import clients  # noqa: PLC0415
    from oauth.clients.client_metadata import ClientMetadata  # noqa: PLC0415  settings first
    from oauth.grants import authorizations, tokens  # noqa: PLC0415
    from oauth.models import AuthorizationRequest  # noqa: PLC0415
    from tools_registry.endpoint.http import HttpRequest  # noqa: PLC0415
    from tools_registry.endpoint.surface import WORKSPACE_SURFACE  # noqa: PLC0415
    from workspace import organizations  # noqa: PLC0415
    from workspace.models import Membership, User  # noqa: PLC0415

    organizations.found("Bench", owner=User.objects.create_user("bench@example.com"))
    said = {"redirect_uris": ["http://127.0.0.1:33418/callback"], "client_name": "Bench"}
    metadata = ClientMetadata.parse(said, app_schemes=frozenset())
    client = clients.register(metadata, address="127.0.0.1").client
    asked = AuthorizationRequest(client=client, resource=addresses.resource())
    scope = scopes.parse(SCOPE)
    root = authorizations.give(asked, Membership.objects.select_related().get(), scope)
    bearer = f"Bearer {tokens.issue(root, scope).access}"
    usual = (("host", "127.0.0.1:8000"), ("content-type", "application/json"))
    headers = (*usual, ("authorization", bearer))
    return lambda body: HttpRequest(
        "POST", headers, "", body, "127.0.0.1", "bench", WORKSPACE_SURFACE
    )


def _rows(
    ask: Callable[[bytes], "HttpRequest"], rounds: int
) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """Each kind with the milliseconds of reading it and of the whole answer, by size."""
    from tools_registry.endpoint import respond  # noqa: PLC0415  settings first

    def cost(body: bytes) -> tuple[float, float]:
        whole = _fastest(respond.respond, ask(body), rounds)
        return _fastest(_read, body, rounds), whole / _messages_in(body)

    respond.respond(ask(b"{}"))  # what is imported and connected once
    for kind, parts in KINDS.items():
        yield kind, [cost(_body(parts, size)) for size in SIZES.values()]


def _read(body: bytes) -> object:
    from mcp_protocol import envelope, strict_json  # noqa: PLC0415  settings first
    from mcp_protocol.errors import ProtocolError  # noqa: PLC0415

    with suppress(ProtocolError):
        return envelope.read(strict_json.parse(body), batch_limit=100)
    return None


def _messages_in(body: bytes) -> int:
    return len(getattr(_read(body), "members", " "))


def _body(parts: tuple[bytes, bytes, bytes], size: int) -> bytes:
    first, repeated, last = parts
    return first + repeated * ((size - len(first) - len(last)) // len(repeated)) + last


def _fastest(act: Callable[[Any], object], given: object, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        clock = time.perf_counter()
        act(given)
        times.append(1_000 * (time.perf_counter() - clock))
    return min(times)


def _serialized(rows: list[tuple[str, list[tuple[float, float]]]]) -> Iterator[str]:
    yield "milliseconds to read it / to answer it and write its audit row on SQLite"
    yield "of a batch that is taken apart: to answer each message"
    yield "| kind | " + " | ".join(SIZES) + " |"
    yield "|---" * (len(SIZES) + 1) + "|"
    for kind, cells in rows:
        parts = (f"{read:.2f} / {whole:.2f}" for read, whole in cells)
        yield f"| {kind} | " + " | ".join(parts) + " |"


if __name__ == "__main__":
    sys.exit(main())
