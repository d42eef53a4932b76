"""A Stripe on the loopback: judges every request by the reference, and keeps books.

Idempotency is Stripe's: the first answer under a key is given again, other parameters under it are
an error, and what did not get as far as being done is not remembered.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlsplit

FIXTURES = Path(__file__).parents[2] / "fixtures" / "vendors" / "stripe"
OPERATIONS = json.loads((FIXTURES / "contract.json").read_text())["operations"]
SAMPLES = json.loads((FIXTURES / "samples.json").read_text())
KEY = "sk_test_standin4242424242"
# What a restricted key is given for each part of a path.
PERMISSIONS = {
    "account": "accounts_kyc_basic",
    "charges": "charge",
    "payment_intents": "payment_intent",
    "customers": "customer",
    "subscriptions": "subscription",
    "refunds": "refund",
}
VERSION = re.compile(r"20\d\d-\d\d-\d\d\.[a-z]+")
FORMS = {"integer": r"-?\d+", "boolean": "true|false", "text": r"[\s\S]{1,5000}"}

Json: TypeAlias = Any


class Refusal(Exception):
    """An error object of Stripe's, ready to be sent."""

    def __init__(self, status: int, message: str, **error: str) -> None:
        super().__init__(message)
        given = {"type": "invalid_request_error", "message": message, **error}
        self.reply = StripeReply(status, {"error": given})


@dataclass(frozen=True)
class StripeReply:
    status: int
    body: Json
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StripeRequest:
    """One request as it came in."""

    method: str
    path: str
    query: Mapping[str, str]
    form: Mapping[str, str]
    headers: Mapping[str, str]

    @property
    def key(self) -> str:
        return self.headers.get("idempotency-key", "")


class Stripe:
    """The books, what came in, and how to misbehave.

    `misbehave` holds what to do with the next requests instead; `loses_answers` does as configured
    and hangs up; `before_changing` runs while somebody waits for a change. `problems` are requests
    that the reference does not allow.
    """

    def __init__(self) -> None:
        self.sent: list[StripeRequest] = []
        self.problems: list[str] = []
        self.misbehave: list[StripeReply | Callable[[], None]] = []
        self.loses_answers = False
        self.before_changing: Callable[[StripeRequest], None] = lambda _sent: None
        self.rows: dict[str, dict[str, Json]] = {}
        self.made: list[dict[str, Json]] = []
        self.remembered: dict[str, tuple[object, StripeReply]] = {}
        # The permissions that the key does not have, such as charge_read.
        self.lacking: set[str] = set()
        self._numbers = count(1)
        self._lock = threading.Lock()

    def has(self, kind: str, **facts: Json) -> str:
        """A new object of the kind with these facts; returns its id."""
        sample = SAMPLES[kind]
        prefix = sample["id"].partition("_")[0]
        row = {**sample, "id": f"{prefix}_{next(self._numbers):014}", **facts}
        self.rows[row["id"]] = row
        return str(row["id"])

    def charge(self, amount: int = 2000, **facts: Json) -> str:
        paid = {"amount": amount, "amount_captured": amount, "captured": True}
        return self.has("charge", **paid, **facts)

    @property
    def changes(self) -> list[StripeRequest]:
        return [one for one in self.sent if one.method != "GET"]

    def answer(self, sent: StripeRequest) -> StripeReply | None:
        """The reply to a request; None to hang up."""
        self.sent.append(sent)
        if self.misbehave:
            instead = self.misbehave.pop(0)
            if isinstance(instead, StripeReply):
                return instead
            instead()
            return None
        try:
            reply = self._check_and_answer(sent)
        except Refusal as refusal:
            reply = refusal.reply
        return None if self.loses_answers and sent.method != "GET" else reply

    def _check_and_answer(self, sent: StripeRequest) -> StripeReply:
        if sent.headers.get("authorization") != f"Bearer {KEY}":
            raise Refusal(401, f"Invalid API Key provided: {KEY[:8]}****4242")
        operation, found = self._operation(sent)
        self._judge(operation, sent)
        self._check_permission(sent)
        if sent.method != "GET":
            self.before_changing(sent)
        with self._lock:
            return self._once(sent, operation, found)

    def _check_permission(self, sent: StripeRequest) -> None:
        noun = PERMISSIONS.get(sent.path.split("/")[2], "")
        permission = f"{noun}_{'read' if sent.method == 'GET' else 'write'}"
        if permission in self.lacking:
            raise Refusal(
                403,
                "The provided key 'rk_test_*********4242' does not have the required permissions "
                f"for this endpoint on account '{SAMPLES['account']['id']}'. Having the "
                f"'rak_{permission}' permission would allow this request to continue.",
            )

    def _operation(self, sent: StripeRequest) -> tuple[Json, Mapping[str, str]]:
        for operation in OPERATIONS:
            match = re.match(operation["path"], sent.path)
            if match and operation["method"] == sent.method:
                return operation, match.groupdict()
        raise self._problem(f"{sent.method} {sent.path} is no operation", 404)

    def _judge(self, operation: Json, sent: StripeRequest) -> None:
        if not VERSION.fullmatch(sent.headers.get("stripe-version", "")):
            raise self._problem("no version is named")
        if bool(sent.key) != (sent.method == "POST"):
            raise self._problem(f"{sent.method} with the idempotency key {sent.key!r}")
        if sent.form and sent.headers.get("content-type") != "application/x-www-form-urlencoded":
            raise self._problem("the body is no form")
        unknown = {*sent.query} - {*operation.get("query", [])}
        fields = operation.get("form", {})
        unknown |= {name for name in sent.form if re.sub(r"\[\w+\]", "[]", name) not in fields}
        if unknown:
            raise self._problem(f"unknown parameters {sorted(unknown)}")
        if missing := {*operation.get("required", [])} - {*sent.form}:
            raise self._problem(f"missing parameters {sorted(missing)}")
        for name, value in sent.form.items():
            kinds = fields[name].split("|")
            if not any(re.fullmatch(FORMS.get(kind, kind), value) for kind in kinds):
                raise self._problem(f"{name} is {value!r}")

    def _problem(self, message: str, status: int = 400) -> Refusal:
        self.problems.append(message)
        return Refusal(status, message)

    def _once(self, sent: StripeRequest, operation: Json, found: Mapping[str, str]) -> StripeReply:
        whole = (sent.method, sent.path, tuple(sorted(sent.form.items())))
        if sent.key in self.remembered:
            before, reply = self.remembered[sent.key]
            if before != whole:
                reported = "Keys for idempotent requests can only be used with the same parameters."
                raise Refusal(400, reported, type="idempotency_error")
            return StripeReply(reply.status, reply.body, {"Idempotent-Replayed": "true"})
        reply = StripeReply(200, self._perform(sent, operation, found))
        if sent.key:
            self.remembered[sent.key] = (whole, reply)
        return reply

    def _perform(self, sent: StripeRequest, operation: Json, found: Mapping[str, str]) -> Json:
        if operation["answers"] in {"balance", "account"}:
            return SAMPLES[operation["answers"]]
        if operation["answers"] == "list":
            return {"object": "list", "url": sent.path, "has_more": False, "data": []}
        if operation["answers"] == "refund" and sent.method == "POST":
            return self._refund(sent.form)
        row = self.rows.get(found["id"])
        if row is None:
            raise Refusal(404, f"No such object: '{found['id']}'", code="resource_missing")
        if operation["answers"] == "customer_balance_transaction":
            return self._credit(row, sent.form)
        if sent.method == "DELETE":
            row["status"] = "canceled"
        for name, value in sent.form.items():
            row[name] = {"true": True, "false": False}.get(
                value, int(value) if value.isdigit() else value
            )
        if sent.query.get("expand[]") == "latest_charge":
            return row | {"latest_charge": self.rows.get(row["latest_charge"])}
        return row

    def _refund(self, form: Mapping[str, str]) -> Json:
        charge, amount = self.rows[form["charge"]], int(form["amount"])
        if amount > charge["amount_captured"] - charge["amount_refunded"]:
            raise Refusal(400, "Refund amount is greater than unrefunded amount on charge")
        charge["amount_refunded"] += amount
        return self._make("refund", amount=amount, charge=charge["id"], reason=form.get("reason"))

    def _credit(self, customer: dict[str, Json], form: Mapping[str, str]) -> Json:
        customer["balance"] += int(form["amount"])
        facts = {"amount": int(form["amount"]), "ending_balance": customer["balance"]}
        return self._make("customer_balance_transaction", customer=customer["id"], **facts)

    def _make(self, kind: str, **facts: Json) -> Json:
        row = self.rows[self.has(kind, **facts)]
        self.made.append(row)
        return row


@contextmanager
def serving(port: int = 0) -> Iterator[tuple[Stripe, str]]:
    """A Stripe that listens, and its URL; asserts that each request fits the reference."""
    stripe = Stripe()
    server = ThreadingHTTPServer(("127.0.0.1", port), _handler(stripe))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield stripe, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert stripe.problems == []


def _handler(stripe: Stripe) -> type[BaseHTTPRequestHandler]:
    class StripeHandler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            url = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            form = dict(parse_qsl(body, keep_blank_values=True))
            headers = {name.lower(): value for name, value in self.headers.items()}
            query = dict(parse_qsl(url.query))
            reply = stripe.answer(StripeRequest(self.command, url.path, query, form, headers))
            if reply is None:
                self.close_connection = True
                return
            self._send(reply)

        def _send(self, reply: StripeReply) -> None:
            raw = isinstance(reply.body, bytes)
            body = reply.body if raw else json.dumps(reply.body).encode()
            self.send_response_only(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_DELETE = _serve  # noqa: N815  the server's own naming

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  inherited
            """Keep the terminal quiet."""

    return StripeHandler
