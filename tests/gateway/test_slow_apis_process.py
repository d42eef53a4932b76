"""Slow APIs of one organization on the server as `./run` has it: one process."""

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

import httpx2
import pytest

from foundation.concurrency import job_threads
from tests.drivers.accounts import open_account
from tests.drivers.fake_vendors import site as sites
from tests.drivers.fake_vendors.site import Site
from tests.drivers.fixture_server import Laboratory
from tests.drivers.person import form_with
from tests.tools_registry.test_asgi_process import wait_until

pytestmark = [pytest.mark.process, pytest.mark.sqlite]

ADMINS: Final = 5
EACH: Final = 8
REQUESTS: Final = ADMINS * EACH
SESSIONS: Final = """
import json
from django.conf import settings
from django.test import Client
from workspace.models import Membership, Organization, Role, User

def sign_in(number):
    user = User.objects.create_user(f"{{number}}-of-{organization}@example.com")
    place = Organization.objects.get(pk={organization!r})
    Membership.objects.create(user=user, organization=place, role=Role.ADMIN)
    browser = Client()
    browser.force_login(user)
    return browser.cookies[settings.SESSION_COOKIE_NAME].value

print(json.dumps([settings.SESSION_COOKIE_NAME, [sign_in(n) for n in range({many})]]))
"""


@dataclass(frozen=True)
class ImportAdmin:
    """An admin of an organization, and the form for a document in their browser."""

    browser: httpx2.Client
    form: Mapping[str, str]

    def start_import(self, url: str) -> httpx2.Response:
        form = {**self.form, "url": url}
        referrer = {"Referer": f"{self.browser.base_url}projects/new"}
        return self.browser.post("/projects/new", data=form, headers=referrer)


@contextmanager
def admins(laboratory: Laboratory, many: int) -> Iterator[list[ImportAdmin]]:
    """Admins of a new organization."""
    place = open_account(laboratory.env).organization
    code = SESSIONS.format(organization=place, many=many)
    name, sessions = json.loads(laboratory.evaluate(code))
    with ExitStack() as stack:
        found = []
        for session in sessions:
            browser = stack.enter_context(
                httpx2.Client(base_url=laboratory.server.url, cookies={name: session}, timeout=20)
            )
            form = form_with(browser.get("/projects/new").text, "project")
            found.append(ImportAdmin(browser, {**dict(form.fields), "organization": place}))
        yield found


@pytest.fixture
def slow() -> Iterator[Site]:
    """An API that sends a byte now and then until it is over."""
    site = Site()
    site.usual = sites.dripping(site.over)
    with sites.serving(site):
        yield site


def test_u10_forty_requests_to_a_slow_api_hold_up_nobody(
    laboratory: Laboratory, slow: Site
) -> None:
    with admins(laboratory, ADMINS) as senders, admins(laboratory, 1) as others:
        with ThreadPoolExecutor(REQUESTS) as pool:
            sent = [pool.submit(one.start_import, slow.url) for one in senders * EACH]
            answers = [one.result() for one in sent]
        # The site still drips: whoever was answered did not wait for it.
        assert not slow.over.is_set()
        assert {answer.status_code for answer in answers} == {302, 429}, answers
        jobs = sum(answer.status_code == 302 for answer in answers)
        assert jobs == job_threads.OF_ORGANIZATION
        for path in ("/health", "/signin", "/.well-known/oauth-authorization-server"):
            assert httpx2.get(laboratory.server.url + path, timeout=20).status_code == 200
        (other,) = others
        assert other.browser.get("/projects").status_code == 200
        place = other.start_import(f"{slow.url}/other").headers["location"]
        assert 'data-live="running"' in other.browser.get(place).text
        wait_until(lambda: len(slow.seen) == jobs + 1)

        slow.over.set()
        wait_until(lambda: "data-live" not in other.browser.get(place).text)
