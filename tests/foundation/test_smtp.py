"""A mail server that fails is left alone for a while."""

import smtplib
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.mail.backends import smtp as django_smtp

from foundation import smtp


class StubMailServer:
    """What the backend connects to."""

    attempts = 0
    is_silent = True

    def connect(self, *_place: Any, **_options: Any) -> "StubMailServer":
        StubMailServer.attempts += 1
        if StubMailServer.is_silent:
            raise TimeoutError
        return self


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[StubMailServer]]:
    StubMailServer.attempts, StubMailServer.is_silent = 0, True
    backend = django_smtp.EmailBackend
    connect = property(lambda _self: StubMailServer().connect)
    monkeypatch.setattr(backend, "connection_class", connect)
    smtp.outage.forget()
    yield StubMailServer
    smtp.outage.forget()


def test_one_mail_of_many_waits_for_a_mail_server_that_is_silent(
    attempts: type[StubMailServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_000.0
    monkeypatch.setattr(smtp.outage, "_now", lambda: now)
    with pytest.raises(TimeoutError):
        smtp.EmailBackend().open()
    with pytest.raises(smtplib.SMTPServerDisconnected):
        smtp.EmailBackend().open()
    assert attempts.attempts == 1

    attempts.is_silent = False
    now += 11
    assert smtp.EmailBackend().open()
    assert attempts.attempts == 2
