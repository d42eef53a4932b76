"""What browsers, clients and crawlers look for at the origin of a server."""

import struct
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from tests.console import markup
from tests.drivers.built_settings import build

PNG = b"\x89PNG\r\n\x1a\n"


def content(client: Client, path: str) -> bytes:
    response = client.get(path)
    assert response.status_code == 200, path
    return response.getvalue()


def size_of_png(image: bytes) -> tuple[int, int]:
    assert image.startswith(PNG)
    width, height = struct.unpack(">II", image[16:24])
    return width, height


@pytest.mark.usefixtures("db")
def test_the_icon_is_at_the_origin_in_three_forms(client: Client) -> None:
    assert content(client, "/favicon.ico").startswith(b"\0\0\1\0")
    assert b"<svg" in content(client, "/favicon.svg")
    assert size_of_png(content(client, "/apple-touch-icon.png")) == (180, 180)


@pytest.mark.usefixtures("db")
def test_a_page_links_the_icons_that_are_served(client: Client) -> None:
    for page in ("/signin", "/docs/"):
        links = markup.read(content(client, page)).all("link")
        icons = [one.attributes["href"] for one in links if "icon" in one.attributes["rel"]]
        assert icons == ["/favicon.ico", "/favicon.svg", "/apple-touch-icon.png"]


@pytest.mark.usefixtures("db")
def test_crawlers_may_read_the_documentation_and_no_page_of_a_person(client: Client) -> None:
    response = client.get("/robots.txt")
    assert response["Content-Type"].startswith("text/plain")
    rules = response.getvalue().decode().split("\n")
    assert rules[0] == "User-agent: *"
    assert "Allow: /docs/" in rules
    assert "Disallow: /" in rules


@pytest.mark.usefixtures("db")
def test_security_txt_has_the_contact_and_expires_within_a_year(
    client: Client, settings: Any
) -> None:
    settings.HALO_SECURITY_CONTACT = "mailto:security@acme.example"
    lines = content(client, "/.well-known/security.txt").decode().splitlines()
    fields = dict(line.split(": ", 1) for line in lines)
    assert fields["Contact"] == "mailto:security@acme.example"
    assert fields["Canonical"] == f"{settings.HALO_PUBLIC_URL}/.well-known/security.txt"
    expires = datetime.fromisoformat(fields["Expires"])
    assert timedelta(days=1) < expires - datetime.now(UTC) < timedelta(days=365)


@pytest.mark.usefixtures("db")
def test_security_txt_is_not_there_without_a_contact(client: Client) -> None:
    response = client.get("/.well-known/security.txt")
    assert (response.status_code, response.json()) == (404, {"error": "not_found"})


@pytest.mark.parametrize(
    ("given", "contact"),
    [
        ("security@acme.example", "mailto:security@acme.example"),
        ("mailto:ops@acme.example", "mailto:ops@acme.example"),
        ("https://acme.example/report?kind=bug", "https://acme.example/report?kind=bug"),
    ],
)
def test_a_contact_is_an_address_of_mail_or_of_a_page(given: str, contact: str) -> None:
    assert build(HALO_SECURITY_CONTACT=given)["HALO_SECURITY_CONTACT"] == contact


@pytest.mark.parametrize(
    "given", ["ops", "http://acme.example", "https://", "mailto:", "https://a.example/\nExpires: x"]
)
def test_what_is_no_contact_stops_the_start(given: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^HALO_SECURITY_CONTACT: "):
        build(HALO_SECURITY_CONTACT=given)
