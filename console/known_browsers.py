"""Browsers in which an account has signed in before, so that strangers cannot lock it out.

Guesses at an account are bounded whoever makes them. A browser that has been let in keeps a
signed cookie and is counted by itself: when strangers have spent the account's bound, its owner
still gets in. The cookie opens nothing; it holds no address, only keyed digests.
"""

import secrets
import unicodedata
from typing import Any, Final

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponseBase
from django.utils.crypto import salted_hmac

COOKIE: Final = "halo_known_browser"
PATH: Final = "/"  # passwords and codes are also tried where factors are added
SALT: Final = "halo.known_browsers"
SECONDS: Final = 180 * 86_400
MOST_ACCOUNTS: Final = 5


def remember(request: HttpRequest, response: HttpResponseBase, email: str) -> None:
    """Let this browser be known to the account from now on."""
    known = _known(request)
    others = [one for one in known["accounts"] if one != _digest(email)]
    known["accounts"] = [_digest(email), *others][:MOST_ACCOUNTS]
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
    """What this browser is counted under; empty where the account never signed in here."""
    known = _known(request)
    return str(known["name"]) if _digest(email) in known["accounts"] else ""


def one_spelling(email: str) -> str:
    """The same text for every way to type an address that the database takes for the same."""
    return unicodedata.normalize("NFKC", email.strip()).casefold()


def _known(request: HttpRequest) -> dict[str, Any]:
    try:
        known = signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=SECONDS)
    except signing.BadSignature:
        return {"name": secrets.token_urlsafe(12), "accounts": []}
    return dict(known)


def _digest(email: str) -> str:
    return salted_hmac(SALT, one_spelling(email), algorithm="sha256").hexdigest()[:32]
