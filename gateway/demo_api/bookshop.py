"""The bookshop behind the demo API: books in memory, and what each operation does with them."""

import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from http import HTTPStatus
from typing import Any, Final, TypeAlias

Json: TypeAlias = Any

CURRENCIES: Final = {"EUR": 1.0, "USD": 1.1}
FIRST: Final = (
    ("Middlemarch", "George Eliot", 1190, 12),
    ("The Left Hand of Darkness", "Ursula K. Le Guin", 990, 4),
    ("Invisible Cities", "Italo Calvino", 1050, 0),
    ("Kindred", "Octavia E. Butler", 1250, 7),
    ("The Periodic Table", "Primo Levi", 1100, 3),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BookshopRequest:
    """A request without its credential; header names are in lower case."""

    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class BookshopReply:
    status: int
    value: Json = None
    # What is sent instead of the value, with its media type.
    data: bytes = b""
    media_type: str = "application/json"


class BookshopError(Exception):
    """The request is refused with this status and message."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(slots=True)
class Bookshop:
    """The books by their number; every operation runs alone."""

    books: dict[int, dict[str, Json]] = field(default_factory=dict)
    covers: dict[int, BookshopReply] = field(default_factory=dict)
    created: dict[str, tuple[bytes, BookshopReply]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    last: int = 0

    def __post_init__(self) -> None:
        for title, author, price, stock in FIRST:
            self._add({"title": title, "author": author, "price_cents": price, "stock": stock})

    def list_books(self, request: BookshopRequest) -> BookshopReply:
        words = request.query.get("q", "").lower()
        limit = _whole(request, "limit", 20, range(1, 101))
        offset = _whole(request, "offset", 0, range(1_000_000))
        found = [
            book
            for book in self.books.values()
            if words in f"{book['title']} {book['author']}".lower()
        ]
        page = [_convert_price(book, request) for book in found[offset : offset + limit]]
        return BookshopReply(HTTPStatus.OK, {"total": len(found), "books": page})

    def create_book(self, request: BookshopRequest) -> BookshopReply:
        key = request.headers.get("idempotency-key", "")
        if key and key in self.created:
            body, reply = self.created[key]
            if body != request.body:
                raise BookshopError(HTTPStatus.CONFLICT, "The key was used with another body.")
            return reply
        given = _properties(request)
        for name in ("title", "author", "price_cents"):
            if name not in given:
                raise BookshopError(HTTPStatus.UNPROCESSABLE_ENTITY, f"{name} is required.")
        reply = BookshopReply(HTTPStatus.CREATED, self._add({"stock": 0} | given))
        if key:
            self.created[key] = request.body, reply
        return reply

    def get_book(self, number: int, request: BookshopRequest) -> BookshopReply:
        return BookshopReply(HTTPStatus.OK, _convert_price(self._book(number), request))

    def change_book(self, number: int, request: BookshopRequest) -> BookshopReply:
        book = self._book(number) | _properties(request)
        self.books[number] = book
        return BookshopReply(HTTPStatus.OK, book)

    def delete_book(self, number: int, _request: BookshopRequest) -> BookshopReply:
        self._book(number)
        del self.books[number]
        self.covers.pop(number, None)
        return BookshopReply(HTTPStatus.NO_CONTENT)

    def set_cover(self, number: int, request: BookshopRequest) -> BookshopReply:
        self._book(number)
        file = _part(request, "file")
        self.covers[number] = file
        size = len(file.data)
        return BookshopReply(HTTPStatus.OK, {"id": number, "type": file.media_type, "bytes": size})

    def get_cover(self, number: int, _request: BookshopRequest) -> BookshopReply:
        if number not in self.covers:
            raise BookshopError(HTTPStatus.NOT_FOUND, "This book has no cover.")
        return self.covers[number]

    def _add(self, properties: Mapping[str, Json]) -> dict[str, Json]:
        self.last += 1
        self.books[self.last] = {"id": self.last, **properties}
        return self.books[self.last]

    def _book(self, number: int) -> dict[str, Json]:
        if number not in self.books:
            raise BookshopError(HTTPStatus.NOT_FOUND, f"There is no book {number}.")
        return self.books[number]


# The operations by method and path.
NUMBER: Final = re.compile(r"/([0-9]{1,9})(?![^/])", re.ASCII)
Operation: TypeAlias = Callable[..., BookshopReply]
OPERATIONS: Final[Mapping[tuple[str, str], Operation]] = {
    ("GET", "/books"): Bookshop.list_books,
    ("POST", "/books"): Bookshop.create_book,
    ("GET", "/books/{id}"): Bookshop.get_book,
    ("PATCH", "/books/{id}"): Bookshop.change_book,
    ("DELETE", "/books/{id}"): Bookshop.delete_book,
    ("PUT", "/books/{id}/cover"): Bookshop.set_cover,
    ("GET", "/books/{id}/cover"): Bookshop.get_cover,
}


def answer(shop: Bookshop, method: str, path: str, request: BookshopRequest) -> BookshopReply:
    """Returns the reply to a request. Raises BookshopError."""
    form = NUMBER.sub("/{id}", path)
    operation = None if "{" in path else OPERATIONS.get((method, form))
    if operation is None:
        raise BookshopError(HTTPStatus.NOT_FOUND, "There is no such operation.")
    with shop.lock:
        return operation(shop, *map(int, NUMBER.findall(path)), request)


KINDS: Final = {"title": str, "author": str, "price_cents": int, "stock": int}


def _properties(request: BookshopRequest) -> dict[str, Json]:
    try:
        given = json.loads(request.body)
    except ValueError:
        raise BookshopError(HTTPStatus.BAD_REQUEST, "The body is not valid JSON.") from None
    if not isinstance(given, dict):
        raise BookshopError(HTTPStatus.UNPROCESSABLE_ENTITY, "The body must be an object.")
    for name, value in given.items():
        is_known = type(value) is KINDS.get(name)
        if not is_known or not (value if isinstance(value, str) else value >= 0):
            raise BookshopError(HTTPStatus.UNPROCESSABLE_ENTITY, f"{name} is unknown or invalid.")
    return given


def _whole(request: BookshopRequest, name: str, default: int, allowed: range) -> int:
    text = request.query.get(name, str(default))
    if not text.isdecimal() or len(text) > len(str(allowed.stop)) or int(text) not in allowed:
        raise BookshopError(HTTPStatus.UNPROCESSABLE_ENTITY, f"{name} is invalid.")
    return int(text)


def _convert_price(book: Mapping[str, Json], request: BookshopRequest) -> dict[str, Json]:
    """The book with its price in the currency of the header."""
    currency = request.headers.get("x-currency", "EUR")
    if currency not in CURRENCIES:
        raise BookshopError(HTTPStatus.UNPROCESSABLE_ENTITY, "X-Currency must be EUR or USD.")
    cents = round(book["price_cents"] * CURRENCIES[currency])
    return {**book, "price_cents": cents, "currency": currency}


def _part(request: BookshopRequest, name: str) -> BookshopReply:
    """One file of a multipart body (RFC 7578)."""
    head = f"Content-Type: {request.headers.get('content-type', '')}\r\n\r\n"
    message = BytesParser(policy=HTTP).parsebytes(head.encode("latin-1") + request.body)
    for part in message.iter_parts() if message.is_multipart() else ():
        if part.get_param("name", header="content-disposition") == name:
            data = part.get_payload(decode=True)
            return BookshopReply(
                HTTPStatus.OK, data=bytes(data), media_type=part.get_content_type()
            )
    raise BookshopError(HTTPStatus.UNPROCESSABLE_ENTITY, f"The part {name} is missing.")
