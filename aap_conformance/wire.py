"""HTTP to the server: one request, its answer as JSON or as server-sent events."""

import json
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx2

from aap_conformance.verdicts import Violation

MAX_BODY: Final = 20_000_000
MAX_SHOWN: Final = 200
# A server that limits requests says how long to wait: so often, and at most so long.
RETRIES: Final = 5
MAX_WAIT_SECONDS: Final = 90.0
TOO_MANY: Final = 429


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """A server-sent event: its name, and its data as JSON."""

    name: str
    data: Any


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """A response that was read to its end; header names are in lower case."""

    request: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300  # noqa: PLR2004  RFC 9110, section 15.3

    @property
    def is_refusal(self) -> bool:
        """Whether the server says that the client made a mistake."""
        return 400 <= self.status < 500 and self.status != TOO_MANY  # noqa: PLR2004  section 15.5

    def __str__(self) -> str:
        return f"{self.request} answered {self.status}{self._body_excerpt}"

    @property
    def _body_excerpt(self) -> str:
        text = self.body.decode(errors="replace").strip()
        if not text:
            return " without a body"
        return f": {text[:MAX_SHOWN]}{'…' if len(text) > MAX_SHOWN else ''}"

    def json(self) -> Any:
        """Returns the body of a successful response. Raises Violation if it is not JSON."""
        if not self.is_success:
            raise Violation(f"{self}.")
        if self.media_type != "application/json":
            raise Violation(f"{self.request} has the content type {self.media_type!r}.")
        try:
            return json.loads(self.body)
        except ValueError:
            raise Violation(f"{self}; that is not JSON.") from None

    def events(self) -> list[StreamEvent]:
        """Returns the events of a successful stream. Raises Violation."""
        if not self.is_success:
            raise Violation(f"{self}.")
        if self.media_type != "text/event-stream":
            raise Violation(f"{self.request} has the content type {self.media_type!r}.")
        return [StreamEvent(name, _data(name, data)) for name, data in _events(self.body)]


class ExaminedServer:
    """The server that is examined. Every request has the key, unless `key` says otherwise."""

    def __init__(self, url: str, key: str, timeout: float) -> None:
        self.url, self._key, self._timeout = url.rstrip("/"), key, timeout
        self._client = httpx2.Client(timeout=timeout)

    def send(
        self, method: str, path: str, body: Any = None, *, key: str | None = None
    ) -> ServerAnswer:
        """Sends a request and reads the response to its end; an empty key sends none.

        Raises Violation if the server ends the connection or takes too long.
        """
        given = self._key if key is None else key
        headers = {"Authorization": f"Bearer {given}"} if given else {}
        for _attempt in range(RETRIES):
            answer = self._send(method, path, body, headers)
            if answer.status != TOO_MANY:
                break
            seconds = _seconds_to_wait(answer)
            print(f"The server limits requests: waiting {seconds:g} s.", file=sys.stderr)  # noqa: T201  a command
            time.sleep(seconds)
        return answer

    def _send(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> ServerAnswer:
        request, ends = f"{method} {path}", time.monotonic() + self._timeout
        content, found = None if body is None else json.dumps(body).encode(), bytearray()
        if content is not None:
            headers = {**headers, "Content-Type": "application/json"}
        try:
            with self._client.stream(
                method, f"{self.url}{path}", content=content, headers=headers
            ) as response:
                for part in response.iter_bytes():
                    found += part
                    if time.monotonic() > ends:
                        raise Violation(f"{request} was not over after {self._timeout:g} s.")
                    if len(found) > MAX_BODY:
                        raise Violation(f"{request} answered more than {MAX_BODY} bytes.")
                read = {name.lower(): value for name, value in response.headers.items()}
                return ServerAnswer(request, response.status_code, read, bytes(found))
        except httpx2.HTTPError as error:
            raise Violation(f"{request} failed: {type(error).__name__}: {error}.") from None

    def close(self) -> None:
        self._client.close()


def _seconds_to_wait(answer: ServerAnswer) -> float:
    given = answer.headers.get("retry-after", "")
    return min(float(given), MAX_WAIT_SECONDS) if given.isdecimal() else 1.0


def _events(body: bytes) -> Iterator[tuple[str, str]]:
    """Yields the name and the data of each event (HTML Living Standard, section 9.2.6)."""
    name, data = "", list[str]()
    text = body.decode(errors="replace").removeprefix("\ufeff")
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        field, _colon, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if data:
                yield name or "message", "\n".join(data)
            name, data = "", []
        elif field == "event":
            name = value
        elif field == "data":
            data.append(value)


def _data(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise Violation(f"The data of {name} is not JSON: {text[:MAX_SHOWN]}") from None
