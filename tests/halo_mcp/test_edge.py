"""Whose word on the scheme is taken, and who may ask under which name."""

from typing import Any

import pytest
from django.test import Client

STRICT = "Strict-Transport-Security"  # sent on answers that went out encrypted, and only on those


@pytest.fixture(autouse=True)
def _a_proxy_stands_in_front(settings: Any) -> None:
    settings.HALO_TRUSTED_PROXIES = ["10.0.0.5", "2001:db8::/64"]
    settings.SECURE_HSTS_SECONDS = 3600


def is_trusted(sent: dict[str, str]) -> bool:
    return STRICT in Client().get("/signin", **sent)


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["10.0.0.5", "::ffff:10.0.0.5", "2001:db8::9"])
def test_a_trusted_proxy_says_that_the_client_came_by_https(address: str) -> None:
    assert is_trusted({"REMOTE_ADDR": address, "HTTP_X_FORWARDED_PROTO": "https"})
    assert not is_trusted({"REMOTE_ADDR": address, "HTTP_X_FORWARDED_PROTO": "http"})


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["10.0.0.6", "127.0.0.1", "203.0.113.9", "", "garbage"])
def test_anybody_else_s_word_counts_for_nothing(address: str) -> None:
    sent = {
        "REMOTE_ADDR": address,
        "HTTP_X_FORWARDED_PROTO": "https",
        # What the proxy says of others does not make them a proxy.
        "HTTP_X_FORWARDED_FOR": "10.0.0.5",
    }

    assert not is_trusted(sent)


@pytest.mark.django_db
def test_without_proxies_no_header_is_trusted(settings: Any) -> None:
    settings.HALO_TRUSTED_PROXIES = []

    assert not is_trusted({"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_PROTO": "https"})


@pytest.mark.django_db
@pytest.mark.parametrize("host", ["10.1.2.3:8000", "pod-7.internal", "[fd00::7]", "a_b", ""])
def test_health_is_answered_under_any_name(host: str) -> None:
    reply = Client().get("/health", HTTP_HOST=host)

    assert (reply.status_code, reply.json()) == (200, {"status": "ok"})


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path", ["/", "/signin", "/health/", "/healthy", "//health", "/docs/../health"]
)
def test_every_other_page_keeps_to_its_own_names(path: str) -> None:
    assert Client().get(path, HTTP_HOST="10.1.2.3:8000").status_code == 400
