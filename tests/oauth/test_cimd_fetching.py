"""Fetching a metadata document, from a real server over TLS."""

import json
import socket
import ssl
from collections.abc import Iterator
from typing import Any

import pytest

from foundation.outbound import client as outbound_client
from oauth.clients.cimd import client_url, document
from oauth.errors import InvalidClient
from tests.drivers.metadata_site import PATH, MetadataSite, answering, dripping, serving


@pytest.fixture
def site(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[MetadataSite]:
    with serving(settings, monkeypatch) as site:
        yield site


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """From now on no connection is made, and whoever tries is noted."""
    tried: list[Any] = []

    def connect(place: Any, *_: Any, **__: Any) -> None:
        tried.append(place)
        raise OSError

    monkeypatch.setattr(socket, "create_connection", connect)
    return tried


def refusal(url: str) -> InvalidClient:
    with pytest.raises(InvalidClient) as refused:
        document.fetch(url)
    return refused.value


def test_a_document_is_fetched_and_read(site: MetadataSite) -> None:
    found = document.fetch(site.publish(headers={"Cache-Control": "max-age=7200"}))
    assert found.metadata.client_name == "Example Editor"
    assert found.lifetime.total_seconds() == 7200
    assert site.seen == [PATH]


def test_a_query_is_part_of_the_address(site: MetadataSite) -> None:
    url = site.publish("/client.json?version=2")
    assert document.fetch(url).metadata.client_name == "Example Editor"
    assert site.seen == ["/client.json?version=2"]


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON; charset=utf-8",
        "application/cimd+json",
        "application/vnd.app-example.client+json;v=1",
    ],
)
def test_json_may_go_by_its_other_names(content_type: str, site: MetadataSite) -> None:
    site.publish(headers={"Content-Type": content_type})
    assert document.fetch(site.url()).metadata.client_name == "Example Editor"


@pytest.mark.parametrize(
    "content_type",
    [
        "text/html",
        "text/json",
        "",
        "application/json-seq",
        "application/+json",
        "json",
        "image/svg+json",
    ],
)
def test_what_is_not_served_as_json_is_not_read(content_type: str, site: MetadataSite) -> None:
    site.publish(headers={"Content-Type": content_type})
    assert "not served as application/json" in refusal(site.url()).hint


@pytest.mark.parametrize("status", [201, 203, 206, 304, 400, 401, 404, 410, 500, 503])
def test_only_status_200_holds_a_document(status: int, site: MetadataSite) -> None:
    body = b"" if status == 304 else b"{}"
    site.answers[PATH] = answering(body, status=status)
    refused = refusal(site.url())
    assert refused.hint == document.UNREACHABLE
    assert refused.debug == f"the answer has status {status}"


@pytest.mark.parametrize(
    "location",
    [
        pytest.param("http://169.254.169.254/", id="B04"),
        pytest.param("/elsewhere.json", id="B04-same-site"),
        pytest.param("https://app.example/elsewhere.json", id="B04-named"),
    ],
)
def test_a_redirect_is_not_followed(location: str, site: MetadataSite) -> None:
    site.publish("/elsewhere.json")
    site.answers[PATH] = answering(b"", status=302, headers={"Location": location})
    assert refusal(site.url()).hint == document.UNREACHABLE
    assert site.seen == [PATH]


def test_the_largest_document_is_16_kib(site: MetadataSite) -> None:
    body = json.dumps(site.document()).encode().ljust(16_384)
    site.answers[PATH] = answering(body)
    assert document.fetch(site.url()).metadata.client_name == "Example Editor"
    site.answers[PATH] = answering(body + b" ")
    assert refusal(site.url()).debug == "the answer is too large"


@pytest.mark.parametrize("body", [pytest.param(b"[" * 8000, id="B05-nested")])
def test_a_deeply_nested_document_is_refused_and_nothing_breaks(
    body: bytes, site: MetadataSite
) -> None:
    site.answers[PATH] = answering(body)
    assert "not valid JSON" in refusal(site.url()).hint


@pytest.mark.parametrize("slow", [pytest.param(dripping, id="B05-slow-drip")])
def test_a_slow_drip_ends_with_the_deadline(
    slow: Any, site: MetadataSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No single read times out, the whole does."""
    monkeypatch.setattr(client_url, "FETCH_SECONDS", 0.3)
    site.answers[PATH] = slow
    refused = refusal(site.url())
    assert refused.hint == document.UNREACHABLE
    # In the middle of a read or between two of them.
    assert refused.debug == "it did not respond in time"


@pytest.mark.parametrize(
    "address",
    [
        pytest.param(address, id=f"B02-{address}")
        for address in (
            "64:ff9b:1::a9fe:a9fe",
            "::127.0.0.1",
            "::ffff:0:127.0.0.1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "fec0::1",
            "fd00:ec2::254",
            "224.0.0.1",
            "192.88.99.1",
            "168.63.129.16",
            "192.0.0.192",
            "127.0.0.1",
            "10.0.0.1",
            "169.254.169.254",
        )
    ],
)
def test_a_name_that_leads_inside_is_refused_without_a_packet(
    address: str, site: MetadataSite, connections: list[Any]
) -> None:
    site.names["rebound.example"] = ["93.184.215.14", address]
    refused = refusal("https://rebound.example/a")
    assert refused.hint == document.UNREACHABLE
    assert refused.debug == "its address is outside the public internet"
    assert connections == []


def test_a_public_host_is_not_tried_at_another_port(
    site: MetadataSite, connections: list[Any]
) -> None:
    site.names["shop.example"] = ["93.184.215.14"]
    assert refusal("https://shop.example:8443/a").debug == "the port is not allowed"
    assert connections == []
    refusal("https://shop.example/a")
    assert connections == [("93.184.215.14", 443)]


def test_an_approved_host_may_not_stand_where_clouds_keep_their_keys(
    site: MetadataSite, connections: list[Any]
) -> None:
    site.names["app.example"] = ["169.254.169.254"]
    assert refusal(site.url()).debug == "its address is outside the public internet"
    assert connections == []


def test_a_site_must_prove_its_name(site: MetadataSite, monkeypatch: pytest.MonkeyPatch) -> None:
    site.publish()
    monkeypatch.setattr(outbound_client, "tls_context", ssl.create_default_context)
    refused = refusal(site.url())
    assert refused.debug == "its certificate is not to be trusted"
    assert site.seen == []


def test_what_a_stranger_reads_is_the_same_for_every_way_of_not_being_reached(
    site: MetadataSite, connections: list[Any]
) -> None:
    site.names |= {"inside.example": ["10.0.0.1"], "outside.example": ["93.184.215.14"]}
    hosts = ["inside.example", "outside.example", "nowhere.example", "outside.example:8443"]
    refused = [refusal(f"https://{host}/a") for host in hosts]
    assert {one.hint for one in refused} == {document.UNREACHABLE}
    assert len({one.debug for one in refused}) == len(hosts)
    assert len(connections) == 1
