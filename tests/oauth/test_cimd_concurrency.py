"""What happens while a document is on its way: one fetch for all who ask, and changes meanwhile."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from audit.models import SecurityEvent
from foundation.concurrency.concurrency_limit import ConcurrencyLimit
from oauth.clients import cimd
from oauth.clients.cimd import resolving
from oauth.clients.cimd.document import UNREACHABLE
from oauth.errors import InvalidClient, ServerBusy
from oauth.models import Client
from tests.drivers.metadata_site import PATH, Answer, MetadataSite, answering, delay_answer, serving


@pytest.fixture
def site(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[MetadataSite]:
    with serving(settings, monkeypatch) as site:
        yield site


def resolve(url: str, asker: str = "ada") -> Client:
    return cimd.resolve(url, asker=asker, address="198.51.100.7")


def while_fetching(site: MetadataSite, change: Callable[[], object]) -> str:
    """Publish a document that takes as long to arrive as `change` takes to happen."""
    url, happened = site.publish(), threading.Event()
    published = site.answers[PATH]
    site.answers[PATH] = delay_answer(happened, published)

    def meanwhile() -> None:
        site.asked.wait(10)
        change()
        connection.close()
        happened.set()

    threading.Thread(target=meanwhile).start()
    return url


@pytest.mark.usefixtures("transactional_db")
def test_a_client_that_is_disabled_during_the_fetch_stays_disabled(site: MetadataSite) -> None:
    resolve(site.publish())
    now = timezone.now()
    Client.objects.update(cimd_expires_at=now)
    site.asked.clear()
    url = while_fetching(site, lambda: Client.objects.update(disabled_at=now))
    with pytest.raises(InvalidClient, match="not accepted here"):
        resolve(url)
    assert Client.objects.get().disabled_at == now


@pytest.mark.usefixtures("transactional_db")
def test_a_client_that_is_registered_by_hand_during_the_fetch_is_not_taken_over(
    site: MetadataSite,
) -> None:
    by_hand = {"client_id": site.url(), "name": "By hand", "redirect_uris": ["https://a.example/"]}
    url = while_fetching(site, lambda: Client.objects.create(**by_hand))
    client = resolve(url)
    assert client.name == "By hand"
    assert client.redirect_uris == ["https://a.example/"]
    assert client.registration_source == Client.RegistrationSource.MANUAL


def resolve_at_once(url: str, count: int) -> list[Client | Exception]:
    """Resolve in as many threads, each with a database connection of its own."""

    def ask(_: int) -> Client | Exception:
        try:
            return resolve(url)
        except (InvalidClient, ServerBusy) as refused:
            return refused
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(ask, range(count)))


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch) -> ConcurrencyLimit:
    """A limit of ten lookups at a time."""
    limit = ConcurrencyLimit(total=10)
    monkeypatch.setattr(resolving, "_lookups", limit)
    return limit


def once_all_wait(lookups: ConcurrencyLimit, answer: Answer) -> Answer:
    """Give an answer only once ten lookups are in progress."""

    def answer_then(handler: BaseHTTPRequestHandler) -> None:
        for _ in range(3000):
            if lookups._sum == 10:
                break
            time.sleep(0.001)
        answer(handler)

    return answer_then


@pytest.mark.usefixtures("transactional_db")
def test_ten_who_ask_at_once_share_one_fetch(site: MetadataSite, lookups: ConcurrencyLimit) -> None:
    site.publish()
    site.answers[PATH] = once_all_wait(lookups, site.answers[PATH])
    found = resolve_at_once(site.url(), 10)
    assert found == [Client.objects.get()] * 10
    assert site.seen == [PATH]


@pytest.mark.usefixtures("transactional_db")
def test_ten_who_ask_at_once_share_one_refusal(
    site: MetadataSite, lookups: ConcurrencyLimit
) -> None:
    site.answers[PATH] = once_all_wait(lookups, answering(b"", status=500))
    found = resolve_at_once(site.url(), 10)
    assert [str(one) for one in found] == [UNREACHABLE] * 10
    assert site.seen == [PATH]
    assert SecurityEvent.objects.get().count == 1


@pytest.mark.usefixtures("transactional_db")
def test_fetches_leave_threads_for_everybody_else(
    site: MetadataSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolving, "_lookups", ConcurrencyLimit(total=1))
    url, other, answered = site.publish(), site.publish("/other.json"), threading.Event()
    site.answers[PATH] = delay_answer(answered, site.answers[PATH])
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(resolve_at_once, url, 1)
        assert site.asked.wait(10)
        for crowded in (other, url):
            with pytest.raises(ServerBusy):
                resolve(crowded)
        answered.set()
        assert first.result() == [Client.objects.get()]
    assert resolve(other).client_id == other
    assert site.seen == [PATH, "/other.json"]


@pytest.mark.usefixtures("transactional_db", "lookups")
def test_one_person_with_slow_documents_leaves_lookups_to_everybody_else(
    site: MetadataSite,
) -> None:
    url, other, answered = site.publish(), site.publish("/other.json"), threading.Event()
    site.answers[PATH] = delay_answer(answered, site.answers[PATH])
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(resolve_at_once, url, 1)
        assert site.asked.wait(10)
        with pytest.raises(ServerBusy):
            resolve(other)
        assert resolve(other, asker="bob").client_id == other
        answered.set()
        assert first.result() == [Client.objects.get(client_id=url)]
    Client.objects.all().delete()
    assert resolve(other).client_id == other


@pytest.mark.usefixtures("transactional_db", "lookups")
def test_who_waited_in_vain_is_asked_to_come_back(
    site: MetadataSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolving, "TIMEOUT_SECONDS", 0.05)
    url, answered = site.publish(), threading.Event()
    site.answers[PATH] = delay_answer(answered, site.answers[PATH])
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(resolve_at_once, url, 1)
        assert site.asked.wait(10)
        with pytest.raises(ServerBusy):
            resolve(url)
        answered.set()
        assert first.result() == [Client.objects.get()]


def test_half_of_the_threads_at_the_most_stand_in_a_fetch(settings: Any) -> None:
    assert settings.HALO_CORE_THREADS == 4
    assert resolving._lookups._total == 2
