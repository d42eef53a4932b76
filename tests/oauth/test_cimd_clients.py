"""From a metadata URL to a client: what is stored, for how long, and what is asked only once."""

from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
import time_machine
from django.utils import timezone
from redis.exceptions import ConnectionError as RedisDown

from audit.models import SecurityEvent
from oauth.clients import cimd
from oauth.clients.cimd import resolving
from oauth.errors import InvalidClient
from oauth.models import AuthorizationRequest, Client
from tests.drivers.metadata_site import (
    CALLBACK,
    PATH,
    MetadataSite,
    answering,
    serving,
)
from workspace.models import User

ADDRESS = "198.51.100.7"
DISABLED = "This client is not accepted here."


@pytest.fixture
def site(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[MetadataSite]:
    with serving(settings, monkeypatch) as site:
        yield site


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel("2026-11-21T12:00:30+00:00", tick=False) as traveller:
        yield traveller


def resolve(url: str) -> Client:
    return cimd.resolve(url, asker="ada", address=ADDRESS)


def refusal(url: str) -> str:
    with pytest.raises(InvalidClient) as refused:
        resolve(url)
    return refused.value.hint


@pytest.mark.usefixtures("db", "clock")
def test_a_document_becomes_a_public_client_whose_id_is_its_address(site: MetadataSite) -> None:
    url = site.publish(headers={"Cache-Control": "max-age=600"}, scope="docs:read")
    client = resolve(url)
    assert client == Client.objects.get()
    assert client.client_id == url
    assert client.name == "Example Editor"
    assert client.redirect_uris == [CALLBACK]
    assert client.auth_method == "none"
    assert client.secret_sha256 == ""
    assert client.scope == "docs:read"
    assert not client.is_native
    assert client.metadata["redirect_uris"] == [CALLBACK]
    assert client.registration_source == Client.RegistrationSource.CIMD
    assert client.registered_from == ADDRESS
    assert client.cimd_expires_at == timezone.now() + timedelta(seconds=600)
    assert not SecurityEvent.objects.exists()


@pytest.mark.usefixtures("db")
def test_a_fresh_client_is_not_fetched_again_and_a_stale_one_is(
    site: MetadataSite, clock: time_machine.Traveller
) -> None:
    url = site.publish(headers={"Cache-Control": "max-age=600"})
    assert cimd.needs_fetch(url)
    first = resolve(url)
    clock.shift(599)
    assert not cimd.needs_fetch(url)
    assert resolve(url) == first
    assert site.seen == [PATH]
    clock.shift(1)
    assert cimd.needs_fetch(url)
    assert resolve(url) == first
    assert site.seen == [PATH] * 2


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize(
    ("cache_control", "seconds"),
    [
        pytest.param("no-store", 60, id="B08-no-store"),
        pytest.param("max-age=31536000", 86_400, id="B08-24-hours"),
        pytest.param("must-revalidate", 3600, id="B08-unsaid"),
    ],
)
def test_no_document_counts_for_less_than_a_minute_or_more_than_a_day(
    cache_control: str, seconds: int, site: MetadataSite, clock: time_machine.Traveller
) -> None:
    url = site.publish(headers={"Cache-Control": cache_control})
    resolve(url)
    clock.shift(seconds - 1)
    resolve(url)
    assert site.seen == [PATH]
    clock.shift(1)
    resolve(url)
    assert site.seen == [PATH] * 2


@pytest.mark.usefixtures("db")
def test_a_document_that_changed_replaces_what_was_known(
    site: MetadataSite, clock: time_machine.Traveller
) -> None:
    """B08."""
    before = resolve(site.publish())
    clock.shift(3600)
    moved = ["http://127.0.0.1/callback"]
    client = resolve(site.publish(redirect_uris=moved, client_name="Renamed"))
    assert client.pk == before.pk
    assert client.redirect_uris == client.metadata["redirect_uris"] == moved
    assert client.name == "Renamed"
    assert client.is_native
    assert client.updated == timezone.now()
    assert client.created == before.created


def create_request(client: Client, person: User) -> AuthorizationRequest:
    return AuthorizationRequest.objects.create(
        client=client,
        user=person,
        session_sha256="0" * 64,
        redirect_uri=CALLBACK,
        scope="docs:read",
        resource="http://127.0.0.1:8000/api/mcp",
        code_challenge="0" * 43,
        expires_at=timezone.now() + timedelta(hours=9),
    )


@pytest.mark.parametrize(
    ("changes", "closed_ones"),
    [
        pytest.param({"redirect_uris": ["https://app.example/other"]}, 1, id="B08-moved"),
        pytest.param({"redirect_uris": [CALLBACK, "https://app.example/other"]}, 1, id="B08-more"),
        pytest.param({"client_name": "Renamed"}, 1, id="B08-renamed"),
        pytest.param({"contacts": ["ada@app.example"]}, 0, id="B08-not-shown"),
    ],
)
def test_consent_pages_are_closed_when_what_they_promised_changed(
    changes: dict[str, Any],
    closed_ones: int,
    site: MetadataSite,
    clock: time_machine.Traveller,
    ada: User,
) -> None:
    client = resolve(site.publish())
    create_request(client, ada)
    create_request(Client.objects.create(client_id="halo_client_other"), ada)
    clock.shift(3600)
    resolve(site.publish(**changes))
    decided = AuthorizationRequest.objects.filter(decided_at__isnull=False)
    assert decided.count() == closed_ones


@pytest.mark.usefixtures("db")
def test_a_client_whose_document_is_gone_gets_no_new_authorization(
    site: MetadataSite, clock: time_machine.Traveller
) -> None:
    client = resolve(site.publish())
    site.answers[PATH] = answering(b"", status=404)
    clock.shift(3599)
    assert resolve(site.url()) == client
    clock.shift(1)
    assert "cannot be fetched" in refusal(site.url())
    kept = Client.objects.get()
    assert kept.redirect_uris == [CALLBACK]
    assert kept.disabled_at is None


@pytest.mark.usefixtures("db")
def test_a_failed_fetch_is_not_repeated_for_a_minute(
    site: MetadataSite, clock: time_machine.Traveller
) -> None:
    url = site.publish(client_name=None)
    hint = refusal(url)
    assert "client_name" in hint
    site.publish()
    clock.shift(59)
    assert not cimd.needs_fetch(url)
    assert refusal(url) == hint
    assert site.seen == [PATH]
    clock.shift(2)
    assert resolve(url).name == "Example Editor"
    assert site.seen == [PATH] * 2


@pytest.mark.usefixtures("db")
def test_a_failure_of_one_address_says_nothing_of_another(site: MetadataSite) -> None:
    site.answers[PATH] = answering(b"", status=500)
    refusal(site.url())
    other = site.publish(f"{PATH}?version=2")
    assert resolve(other).client_id == other


@pytest.mark.usefixtures("db")
def test_a_store_that_is_down_costs_a_fetch_and_no_more(
    site: MetadataSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: Any, **__: Any) -> None:
        raise RedisDown

    monkeypatch.setattr(resolving, "cache", SimpleNamespace(get=down, set=down))
    site.answers[PATH] = answering(b"", status=500)
    assert refusal(site.url()) == refusal(site.url())
    assert site.seen == [PATH] * 2
    assert resolve(site.publish()).name == "Example Editor"


@pytest.mark.usefixtures("db", "clock")
def test_a_refused_document_is_on_record_without_what_its_address_may_hide(
    site: MetadataSite,
) -> None:
    path = f"{PATH}?key=s3cret"
    site.answers[path] = answering(b"", status=410)
    refusal(site.url(path))
    refusal(site.url(path))
    event = SecurityEvent.objects.get()
    assert (event.kind, event.count) == ("cimd_refused", 1)
    assert event.address_prefix == "198.51.100.0/24"
    assert event.detail == f"{site.url()}: the answer has status 410"
    assert (event.subject, event.client_id) == ("", "")
    assert not Client.objects.exists()


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize(
    "url",
    [
        pytest.param(f"https://{host}/a", id=f"B01-{host}")
        for host in (
            "127.0.0.1",
            "[::1]",
            "2130706433",
            "0x7f.1",
            "localhost",
            "169.254.169.254",
            "user:s3cret@app.example",
        )
    ],
)
def test_an_address_that_is_never_fetched_is_refused_and_on_record(
    url: str, site: MetadataSite
) -> None:
    assert not cimd.needs_fetch(url)
    assert refusal(url).startswith("A client id that is an address must")
    event = SecurityEvent.objects.get()
    assert event.kind == "cimd_refused"
    assert event.detail.startswith("the client id")
    assert "s3cret" not in event.detail
    assert site.seen == []


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("later", [0, 3600])
def test_an_admins_word_outlasts_the_document(
    later: int, site: MetadataSite, clock: time_machine.Traveller
) -> None:
    client = resolve(site.publish())
    Client.objects.filter(pk=client.pk).update(disabled_at=timezone.now())
    clock.shift(later)
    assert not cimd.needs_fetch(site.url())
    assert refusal(site.url()) == DISABLED
    assert site.seen == [PATH]
    assert not SecurityEvent.objects.exists()


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("switch", [True, False])
def test_a_client_that_was_registered_by_hand_is_never_fetched(
    switch: object, site: MetadataSite, settings: Any
) -> None:
    settings.HALO_CIMD = switch
    client = Client.objects.create(client_id=site.publish(), name="By hand")
    assert not cimd.needs_fetch(site.url())
    assert resolve(site.url()) == client
    assert site.seen == []


@pytest.mark.usefixtures("db")
def test_switched_off_no_document_counts_not_even_a_fresh_one(
    site: MetadataSite, settings: Any
) -> None:
    resolve(site.publish())
    settings.HALO_CIMD = False
    for path in (PATH, "/unknown.json"):
        assert not cimd.needs_fetch(site.url(path))
        assert "accepts no metadata documents" in refusal(site.url(path))
    assert site.seen == [PATH]
