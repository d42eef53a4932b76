"""The background worker, with its mail server, broker and own processes broken on purpose."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.commands.conftest import make_deployment
from tests.commands.deployment import Deployment, wait_until, wait_within
from tests.drivers.fake_vendors import site
from tests.drivers.fake_vendors.site import Site, sending
from tests.drivers.server import lay_tables
from tests.drivers.web_site import WebSite
from tests.faults.proxy import Fault, FaultProxy
from tests.faults.smtp_server import MailServer, mail_server

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads /proc"),
]

HTML = {"Content-Type": "text/html; charset=utf-8"}
SETUP = """
import json
from datetime import timedelta
from django.utils import timezone
import knowledge
from workspace import outbox, organizations
from workspace.models import KnowledgeSource, MailKind, Organization, OutgoingMail
from foundation.models import ScheduledTask

def place(name):
    found = Organization.objects.filter(name=name).first()
    return found or organizations.establish(Organization(name=name, slug=name))

def add_mails(*recipients):
    later = timezone.now() + timedelta(hours=1)
    drafts = [outbox.Draft(each, "Subject", "Text", later) for each in recipients]
    outbox.add(place("mailing").pk, MailKind.APPROVAL, drafts)
"""
MAILS = """
rows = OutgoingMail.objects.order_by("id").values_list("recipient", "state", "attempts")
print(json.dumps([*rows]))
"""
SOURCES = """
rows = KnowledgeSource.objects.order_by("created_at").values_list("status", "attempts")
print(json.dumps([*rows]))
"""
LAST_SENT = """
print(json.dumps(str(ScheduledTask.objects.order_by("-sent_at").first().sent_at)))
"""


class Background:
    """A worker of its own, without web processes, and the peers that it reaches through proxies."""

    def __init__(self, deployment: Deployment, mails: MailServer, smtp: FaultProxy) -> None:
        self.deployment = deployment
        self.mails = mails
        self.smtp = smtp
        self.broker: FaultProxy | None = None

    def start(self) -> int:
        """Starts the worker and returns its process id, once its lanes are there."""
        process = self.deployment.run("manage.py", "worker")
        wait_until(self.deployment.workers)
        return process.pid

    def do(self, statements: str) -> Any:
        """Runs statements in a process of the product; returns what the last one prints."""
        output = self.deployment.manage("shell", "--no-imports", "-c", f"{SETUP}\n{statements}")
        lines = output.strip().splitlines()
        return json.loads(lines[-1]) if lines else None

    def states(self) -> list[list[Any]]:
        """The recipient, the state and the attempts of each mail."""
        found: list[list[Any]] = self.do(MAILS)
        return found

    def add_site(self, organization: str, web: Site) -> None:
        url = f"{web.url}/sitemap.xml"
        self.do(f"knowledge.add(place({organization!r}), kind='sitemap', url={url!r})")


@pytest.fixture
def web() -> Iterator[Site]:
    with site.serving(WebSite()) as serving:
        yield serving


@pytest.fixture
def background(tmp_path: Path, web: Site) -> Iterator[Background]:
    with ExitStack() as stack:
        deployment = stack.enter_context(make_deployment(tmp_path))
        mails = stack.enter_context(mail_server())
        smtp = stack.enter_context(FaultProxy(mails.port))
        made = Background(deployment, mails, smtp)
        if redis := deployment.env.get("REDIS_URL"):
            parts = urlsplit(redis)
            made.broker = stack.enter_context(FaultProxy(parts.port or 6379))
            place = f"127.0.0.1:{made.broker.port}"
            deployment.env["REDIS_URL"] = parts._replace(netloc=place).geturl()
        deployment.env |= {
            "HALO_EMAIL_URL": f"smtp://127.0.0.1:{smtp.port}",
            "HALO_KNOWLEDGE_PRIVATE_HOSTS": web.url.removeprefix("http://"),
        }
        lay_tables(deployment.env)
        yield made


def answer_late(web: Site, pages: int) -> None:
    """Makes a site of a sitemap whose pages are answered when the test is over."""
    name = "http://www.sitemaps.org/schemas/sitemap/0.9"
    listed = "".join(f"<x><loc>{web.url}/{number}</loc></x>" for number in range(pages))
    page = sending(b"<article><h1>Page</h1><p>Something to read here.</p></article>", headers=HTML)

    def answer(handler: Any) -> None:
        if handler.path == "/sitemap.xml":
            sending(f'<urlset xmlns="{name}">{listed}</urlset>'.encode())(handler)
            return
        web.over.wait(30)
        page(handler)

    web.usual = answer


def test_a_worker_that_is_stopped_gives_a_site_back_and_ends_in_time(
    background: Background, web: Site
) -> None:
    answer_late(web, 3)
    background.start()
    background.add_site("slow", web)
    wait_until(lambda: len(web.seen) == 2)
    (process,) = background.deployment.started
    process.terminate()
    assert process.wait(8) == 0
    assert background.do(SOURCES) == [["pending", 0]]
    assert background.deployment.processes() == {}
    # Its message is with the broker again. The schedule sends another one after two minutes.
    background.start()
    assert wait_within(90, lambda: background.do(SOURCES) == [["indexing", 1]])


@pytest.mark.daily
def test_mails_wait_for_a_mail_server_that_refuses(background: Background) -> None:
    background.start()
    background.smtp.set_fault(Fault.CUT)
    background.do("add_mails('ada@example.com', 'bo@example.com')")
    wait_until(lambda: any(attempts for _to, _state, attempts in background.states()))
    background.smtp.set_fault(Fault.PASS)
    wait_until(lambda: len(background.mails.mails) == 2)
    assert sorted(background.mails.recipients()) == ["ada@example.com", "bo@example.com"]
    wait_until(lambda: {state for _to, state, _attempts in background.states()} == {"sent"})


@pytest.mark.daily
def test_mails_whose_message_was_lost_with_the_broker_are_sent(background: Background) -> None:
    if background.broker is None:
        pytest.skip("the broker is a folder")
    background.start()
    with background.broker.fault(Fault.CUT):
        background.do("add_mails('ada@example.com')")
        assert background.mails.mails == []
    wait_until(lambda: background.mails.recipients() == ["ada@example.com"])


@pytest.mark.daily
def test_a_worker_that_is_killed_while_it_sends_loses_no_mail(background: Background) -> None:
    sending_now, killed = threading.Event(), threading.Event()

    def hold_back() -> None:
        sending_now.set()
        killed.wait(60)

    background.mails.on_mail = hold_back
    background.start()
    background.do("add_mails('ada@example.com', 'bo@example.com')")
    assert sending_now.wait(60)
    for pid in background.deployment.workers():
        os.kill(pid, signal.SIGKILL)
    background.mails.on_mail = lambda: None
    killed.set()
    wait_until(lambda: background.deployment.processes() == {})
    background.start()
    # The claim of the killed one ends after two minutes.
    assert wait_within(
        300, lambda: {state for _to, state, _attempts in background.states()} == {"sent"}
    )
    # The one that was being sent when it was killed may have arrived then.
    assert {*background.mails.recipients()} == {"ada@example.com", "bo@example.com"}
    assert len(background.mails.mails) <= 3


@pytest.mark.daily
def test_slow_sites_of_two_organizations_keep_no_mail_waiting(
    background: Background, web: Site
) -> None:
    answer_late(web, 20)
    background.start()
    for organization in ("one", "two"):
        background.add_site(organization, web)
    wait_until(lambda: background.do(SOURCES) == [["indexing", 1], ["indexing", 1]])
    background.do("add_mails('ada@example.com')")
    wait_until(lambda: background.mails.recipients() == ["ada@example.com"])
    assert [status for status, _attempts in background.do(SOURCES)] == ["indexing", "indexing"]


@pytest.mark.daily
def test_two_workers_send_each_mail_once(background: Background) -> None:
    background.start()
    background.deployment.run("manage.py", "worker")
    wait_until(lambda: len(background.deployment.processes()) == 6)
    recipients = [f"member{number}@example.com" for number in range(40)]
    background.do(f"add_mails(*{recipients!r})")
    background.do("for _ in range(10): outbox.queueing.send(outbox.SEND_TASK)")
    wait_until(lambda: {state for _to, state, _attempts in background.states()} == {"sent"})
    assert sorted(background.mails.recipients()) == sorted(recipients)


@pytest.mark.daily
def test_the_schedule_goes_on_when_the_process_that_sends_it_is_killed(
    background: Background,
) -> None:
    background.start()
    before = wait_until(lambda: background.do(LAST_SENT))
    for pid in background.deployment.workers()[1:]:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: background.do(LAST_SENT) > before)
    assert "worker_process_ended" in background.deployment.log.read_text()


@pytest.mark.daily
def test_no_process_outlives_a_worker_that_was_killed(background: Background) -> None:
    os.kill(background.start(), signal.SIGKILL)
    wait_until(lambda: background.deployment.processes() == {})
