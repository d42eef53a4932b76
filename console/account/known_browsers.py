"""Browsers in which an account has signed in before, so that others cannot lock it out.

Sign-in attempts for an account are limited, from every address. A browser that has signed in keeps
a signed cookie and is counted separately: its owner can sign in even if others have used up the
limit of the account. The cookie authenticates nothing; it holds no address, only keyed digests.
"""

import secrets
import unicodedata
from typing import Any, Final

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponseBase
from django.utils.crypto import salted_hmac

COOKIE: Final[str] = settings.HALO_KNOWN_BROWSER_COOKIE
PATH: Final = "/"  # passwords and codes are also tried where factors are added
SALT: Final = "halo.known_browsers"
SECONDS: Final = 180 * 86_400
MAX_ACCOUNTS: Final = 5


def remember(request: HttpRequest, response: HttpResponseBase, email: str) -> None:
    """Remembers this browser as one of the account."""
    known = _read_cookie(request)
    others = [one for one in known["accounts"] if one != _digest(email)]
    known["accounts"] = [_digest(email), *others][:MAX_ACCOUNTS]
    response.set_cookie(
        COOKIE,
        signing.dumps(known, salt=SALT),
        max_age=SECONDS,
        path=PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def name(request: HttpRequest, email: str) -> str:
    """Returns the key of this browser's counter; empty if the account never signed in here."""
    known = _read_cookie(request)
    return str(known["name"]) if _digest(email) in known["accounts"] else ""


def one_spelling(email: str) -> str:
    """Returns the same text for all spellings of an address that the database treats as equal."""
    return unicodedata.normalize("NFKC", email.strip()).casefold()


def _read_cookie(request: HttpRequest) -> dict[str, Any]:
    try:
        known = signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=SECONDS)
    except signing.BadSignature:
        return {"name": secrets.token_urlsafe(12), "accounts": []}
    return dict(known)


def _digest(email: str) -> str:
    return salted_hmac(SALT, one_spelling(email), algorithm="sha256").hexdigest()[:32]
