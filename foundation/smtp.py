"""Django's mail backend for SMTP, with a circuit breaker.

A mail server that is silent costs each connection EMAIL_TIMEOUT: of many mails, one pays for it.
"""

from smtplib import SMTPServerDisconnected
from typing import Final

from django.core.mail.backends import smtp

from foundation.outage import Outage

outage: Final = Outage(retry_after=10)


class EmailBackend(smtp.EmailBackend):
    """Connects as Django's does, unless the mail server failed a moment ago."""

    def open(self) -> bool | None:
        """Returns whether a new connection was made. Raises OSError, as SMTPException is."""
        if self.connection is not None:
            return False
        if outage.skips_store():
            raise SMTPServerDisconnected("The mail server failed a moment ago.")
        try:
            is_new = super().open()
        except OSError:
            outage.record_failure()
            raise
        outage.record_success()
        return is_new
