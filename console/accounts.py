"""Who may sign up, and where signing in leads."""

import re
from typing import Final

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from oauth import replies

# Browsers drop tabs and line breaks from an address and take a backslash for a slash, so
# "/<tab>/host" and "/\host" name another site (WHATWG URL 4.4).
PATH: Final = re.compile(r"/(?![/\\])[^\x00-\x1f\x7f]*")


class AccountAdapter(DefaultAccountAdapter):
    """Accounts are made by administrators, and nobody is sent off this site by signing in."""

    # One sentence for an unknown address and a wrong password: which it was is nobody's business.
    error_messages = DefaultAccountAdapter.error_messages | {
        "email_password_mismatch": _("This address and this password do not belong together."),
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:  # noqa: ARG002  allauth's signature
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        """The address that guesses are counted under: behind a proxy not the proxy's own."""
        return replies.address_of(request)

    def is_safe_url(self, url: str) -> bool:
        """Accept a path of this site and nothing else: no scheme, no host, not even our own.

        An open redirect behind a sign-in page is how codes and people are led astray
        (RFC 9700 4.11).
        """
        return PATH.fullmatch(url) is not None
