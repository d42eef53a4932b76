"""Limits on attempts of passwords and codes, without locking the owner out.

An attempt is charged before it is checked and refunded if it was right, so that parallel attempts
gain nothing. It counts for the account from this address, for the address, and for the account from
any address. A browser that the account has used before is counted separately, so that attempts of
others do not lock its owner out.
"""

import math
from collections.abc import Sequence
from typing import Final

import structlog
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.account import known_browsers
from foundation import limits, peer
from foundation.limits import Bucket, Limit, LimitStoreDown
from oauth.endpoints import replies
from oauth.errors import ServerBusy
from workspace.models import User

log = structlog.get_logger(__name__)

PASSWORDS_HERE: Final = Limit(5, 300)
PASSWORDS_OF_ADDRESS: Final = Limit(30, 300)
PASSWORDS_OF_ACCOUNT: Final = Limit(100, 3600)
PASSWORDS_OF_BROWSER: Final = Limit(10, 300)
CODES_HERE: Final = Limit(5, 300)
# Three of a million codes are valid at any time: twenty attempts an hour find one in 1.9 years on
# average.
CODES_OF_ACCOUNT: Final = Limit(20, 3600)
CODES_OF_BROWSER: Final = Limit(5, 300)

Tries = Sequence[Bucket]


class GuessRefused(ValidationError):
    """The attempt is not checked; the text says until when, or that the counters are down."""


def charge_password(request: HttpRequest, email: str) -> Tries:
    """Charges one password attempt for an address as it was typed, whether it exists or not.

    Raises GuessRefused.
    """
    address = replies.address_of(request)
    account = known_browsers.one_spelling(email)
    here = peer.rate_key(address)
    if browser := known_browsers.name(request, email):
        return _charge(address, Bucket(f"password:{account} {browser}", PASSWORDS_OF_BROWSER))
    return _charge(
        address,
        Bucket(f"password:{account} {here}", PASSWORDS_HERE),
        Bucket(f"password_address:{here}", PASSWORDS_OF_ADDRESS),
        Bucket(f"password_account:{account}", PASSWORDS_OF_ACCOUNT),
    )


def charge_code(request: HttpRequest, user: User) -> Tries:
    """Charges one attempt of a code of the second step. Raises GuessRefused."""
    address = replies.address_of(request)
    here = peer.rate_key(address)
    if browser := known_browsers.name(request, user.email):
        return _charge(address, Bucket(f"code:{user.pk} {browser}", CODES_OF_BROWSER))
    return _charge(
        address,
        Bucket(f"code:{user.pk} {here}", CODES_HERE),
        Bucket(f"code_account:{user.pk}", CODES_OF_ACCOUNT),
    )


def give_back(tries: Tries) -> None:
    """Refunds an attempt that was right."""
    try:
        limits.give_back(tries)
    except LimitStoreDown:
        # It stays charged, which only makes the limit stricter.
        log.error("limit_store_down")  # noqa: TRY400  the traceback names the store's address


def _charge(address: str, *buckets: Bucket) -> Tries:
    try:
        replies.spend(*buckets, address=address)
    except replies.RateLimitExceeded as refused:
        raise GuessRefused(_wait(int(refused.headers["Retry-After"]))) from refused
    except ServerBusy as down:
        raise GuessRefused(_("This is temporarily unavailable. Try again in a moment.")) from down
    return buckets


def _wait(seconds: int) -> str:
    minutes = math.ceil(seconds / 60)
    text = ngettext(
        "Too many failed attempts. Try again in 1 minute.",
        "Too many failed attempts. Try again in %(n)d minutes.",
        minutes,
    )
    return text % {"n": minutes}
