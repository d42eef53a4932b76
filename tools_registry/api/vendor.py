"""How an integration reaches its vendor: what an author declares, and what a call is given.

No Django. Authors import these from `tools_registry.api`.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, Protocol

from tools_registry.api.readable import one_line
from tools_registry.api.results import (
    IntegrationFailure,
    Json,
    NotDone,
    NotFound,
    PermissionRefused,
    ToolFailure,
    Unauthorized,
    ValidationFailure,
)

MAX_SENTENCE: Final = 300
MAX_SENTENCE_DEPTH: Final = 4
SENTENCES: Final = ("message", "detail", "error_description", "title", "error", "errors")
LOG_ID_HEADERS: Final = ("request-id", "x-request-id")
NOTHING: Final[Mapping[str, Json]] = {}


@dataclass(frozen=True, slots=True)
class Setting:
    """Something an admin fills in next to the credential. Never a secret: it is shown again.

    `pattern` is what a whole value must match; empty values are left out of `Vendor.settings`.
    """

    name: str
    title: str
    help: str = ""
    pattern: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class VendorResponse:
    """What a vendor answered: `headers` in lower case, `value` the parsed JSON, None if empty."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    value: Json = field(repr=False)

    @property
    def is_success(self) -> bool:
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES


class Vendor(Protocol):
    """The vendor of a call's integration, as its organization has connected it."""

    @property
    def settings(self) -> Mapping[str, str]: ...

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] = NOTHING,
        json: Json = None,
        form: Mapping[str, str] = NOTHING,
        idempotency_key: str = "",
        is_read: bool = False,
        look_for: str = "",
    ) -> VendorResponse:
        """Send one request below the vendor's base URL; raises what `Connection.judge` makes of it.

        A vendor that is busy is asked again, as its headers say and while there is time. Only what
        is safe to repeat is repeated after anything else: GET, HEAD, PUT, DELETE, and whatever has
        a key that the vendor knows.

        A request with another method than GET, HEAD and OPTIONS changes something, unless `is_read`
        says that it does not, such as a query of GraphQL. `look_for` says what a change makes, in
        words that follow "Look for": the caller reads it if nobody knows whether it was made.
        Raises NotDone where too little time is left for a change.
        """
        ...


def bearer(credential: str) -> Mapping[str, str]:
    """The credential as a bearer token (RFC 6750 section 2.1)."""
    return {"Authorization": f"Bearer {credential}"}


def judge_status(answer: VendorResponse) -> ToolFailure | None:
    """Returns the failure that a REST status means, or None for a success.

    404 means that the record does not exist, and 422 that the values are refused (RFC 9110 sections
    15.5.5 and 15.5.21), and the failure has the vendor's sentence. A 400 may have other causes: an
    integration judges it by its body.
    """
    sentence = error_sentence(answer.value)
    match answer.status:
        case HTTPStatus.NOT_FOUND:
            otherwise = " (it answered 404)."
            return NotFound(add_sentence("The vendor has no such record", sentence, otherwise))
        case HTTPStatus.UNPROCESSABLE_ENTITY:
            reason = sentence or "the vendor answered 422"
            message = add_sentence("The vendor refused the values", sentence)
            return ValidationFailure(message, field="arguments", reason=reason)
    return judge_endpoint_status(answer)


def error_sentence(value: Json, depth: int = MAX_SENTENCE_DEPTH) -> str:
    """Returns what an error of a REST API says, as one line, or nothing.

    Read are the members that error bodies have in common, also within `error` and the first of
    `errors`: `message`, `detail` and `title` (RFC 9457) and `error_description` (RFC 6749). The
    client masks secrets in the message of every failure.
    """
    match value:
        case str():
            return one_line(value, MAX_SENTENCE)
        case [first, *_] if depth:
            return error_sentence(first, depth - 1)
        case dict() if depth:
            parts = (error_sentence(value.get(name), depth - 1) for name in SENTENCES)
            return next(filter(None, parts), "")
    return ""


def add_sentence(message: str, sentence: str, otherwise: str = ".") -> str:
    """Returns a message that ends with the vendor's sentence, or with `otherwise` without one."""
    return f"{message}: {sentence}" if sentence else f"{message}{otherwise}"


def judge_endpoint_status(answer: VendorResponse) -> ToolFailure | None:
    """As `judge_status`, for a vendor whose address names no record, such as a GraphQL endpoint."""
    if answer.is_success:
        return None
    refusal = "The vendor refused the organization's credential."
    if answer.status == HTTPStatus.UNAUTHORIZED:
        return Unauthorized(refusal)
    if answer.status == HTTPStatus.FORBIDDEN:
        return judge_forbidden(answer, refusal)
    message = f"The vendor answered {answer.status}."
    return IntegrationFailure(message, upstream_status=answer.status)


def judge_forbidden(answer: VendorResponse, message: str) -> ToolFailure:
    """Returns the failure of a 403, with this message if the answer is the vendor's.

    It refuses one request, not the credential (RFC 9110 sections 15.5.2 and 15.5.4).
    """
    if isinstance(answer.value, dict):
        return PermissionRefused(message, upstream_status=answer.status)
    return NotDone(
        "The vendor answered 403, and not with an error of its own: a firewall or a proxy may have "
        "refused the request.",
        upstream_status=answer.status,
    )


def find_log_id(answer: VendorResponse) -> str:
    """Returns what vendors call their id of a request in a header of the answer, or nothing."""
    return next((answer.headers[name] for name in LOG_ID_HEADERS if name in answer.headers), "")


@dataclass(frozen=True, slots=True)
class VendorAccount:
    """What a credential is connected to: in words, and the vendor's own id of the account.

    An id with a slash has more of the account than its beginning, which is all that another
    credential of the same account may be able to read. `missing` lists in sentences what calls
    need and the credential or the account lacks; `wrong_settings`, the settings that name nothing
    there.
    """

    name: str
    id: str = ""
    missing: Sequence[str] = ()
    wrong_settings: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorConnection:
    """How an organization connects an integration, and how its requests look.

    `credential` says what an admin pastes, `credential_help` where to find it. `check` asks the
    vendor something cheap and says what it is connected to, as a `VendorAccount` where the vendor
    has an id for it, or lacks something; it raises what `Vendor.send` raises, and ToolFailure for a
    credential that no call could use. `help_date` is the day on which `credential_help` was last
    compared with the vendor's pages. `wrong_credentials` has how credentials of other kinds begin,
    and what each is in words that follow "This is".
    `judge` turns an answer into the failure that it stands for, None for none. `waits` gives the
    seconds after which a vendor that did nothing yet may be asked again: `math.inf` for not within
    this call, None for an answer that only the status 429 and Retry-After speak for. `log_id` reads
    from an answer what the vendor finds the request by in its log: it is part of each failure.
    `deadline` is in seconds, for one call's requests; a change is sent only while `change_seconds`
    of them are left, or half of the deadline if that is less: what the vendor may take to answer.
    """

    base_url: str
    credential: str
    check: Callable[[Vendor], str | VendorAccount] = field(repr=False)
    credential_help: str = ""
    help_date: dt.date | None = None
    wrong_credentials: Mapping[str, str] = field(default_factory=dict)
    authorization: Callable[[str], Mapping[str, str]] = field(default=bearer, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    idempotency_header: str = ""
    settings: Sequence[Setting] = ()
    judge: Callable[[VendorResponse], ToolFailure | None] = field(default=judge_status, repr=False)
    waits: Callable[[VendorResponse], float | None] | None = field(default=None, repr=False)
    log_id: Callable[[VendorResponse], str] = field(default=find_log_id, repr=False)
    deadline: float = 20.0
    change_seconds: float = 10.0


class NotConnected:
    """The vendor of a call that has none."""

    settings: Mapping[str, str] = {}

    def send(self, *_request: object, **_facts: object) -> VendorResponse:
        raise IntegrationFailure("This integration is not connected.")
