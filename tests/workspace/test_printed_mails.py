"""Without a mail server, the worker prints mails, for people to read in its output."""

import time

import pytest

from tests.drivers.accounts import open_account
from tests.drivers.evaluation import evaluate
from tests.drivers.server import Server

pytestmark = pytest.mark.process

SEND = """
from datetime import timedelta
from django.utils import timezone
from uuid import UUID
from workspace import outbox
from workspace.models import MailKind
draft = outbox.Draft("ada@acme.example", "A printed mail", "First line.\\nhttps://halo.example/requests/1\\n",
                     timezone.now() + timedelta(hours=1))
outbox.add(UUID({organization!r}), MailKind.APPROVAL, [draft])
"""
TIMEOUT_SECONDS = 60


def test_a_mail_is_printed_line_by_line(server: Server) -> None:
    evaluate(server.env, SEND.format(organization=open_account(server.env).organization))
    lines: list[str] = []
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while "https://halo.example/requests/1" not in lines and time.monotonic() < deadline:
        time.sleep(0.2)
        lines = server.log.read_text().splitlines()
    assert "Subject: A printed mail" in lines
    assert "https://halo.example/requests/1" in lines
