import ipaddress

import pytest
from django.core.exceptions import ImproperlyConfigured
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_django import Settings

from foundation import peer

at_any_pace = settings(deadline=None)

PROXIES = peer.networks(["10.0.0.0/8", "2001:db8:aaaa::/48"])

outsiders = st.one_of(
    st.ip_addresses(network="203.0.113.0/24"), st.ip_addresses(network="2001:db8:1::/48")
).map(str)
proxies = st.one_of(
    st.ip_addresses(network="10.0.0.0/8"), st.ip_addresses(network="2001:db8:aaaa::/48")
).map(str)


def test_without_trusted_proxies_the_header_is_not_read() -> None:
    assert peer.peel("198.51.100.7", "203.0.113.9", ()) == "198.51.100.7"


def test_a_stranger_cannot_name_another_address() -> None:
    assert peer.peel("198.51.100.7", "10.0.0.1, 203.0.113.9", PROXIES) == "198.51.100.7"


def test_the_walk_ends_at_the_first_address_no_proxy_has() -> None:
    header = "192.0.2.66, 203.0.113.9, 10.1.1.1"
    assert peer.peel("10.0.0.1", header, PROXIES) == "203.0.113.9"


def test_a_request_from_a_proxy_itself_keeps_the_outermost_hop() -> None:
    assert peer.peel("10.0.0.1", "10.0.0.3, 10.0.0.2", PROXIES) == "10.0.0.3"


@pytest.mark.parametrize(
    "garbage", ["", " ", ",", "garbage", "unknown", "1.2.3.4.5", "\x00", "1e9", "999.1.1.1", "[::"]
)
def test_garbage_falls_back_to_the_last_known_address(garbage: str) -> None:
    assert peer.peel("10.0.0.1", f"203.0.113.9, {garbage}", PROXIES) == "10.0.0.1"
    assert peer.peel("10.0.0.1", f"{garbage}, 10.0.0.2", PROXIES) == "10.0.0.2"


@pytest.mark.parametrize(
    ("entry", "address"),
    [
        ("203.0.113.9:51234", "203.0.113.9"),
        ("[2001:db8:1::7]:51234", "2001:db8:1::7"),
        ("[2001:db8:1::7]", "2001:db8:1::7"),
        ("2001:DB8:1:0::7", "2001:db8:1::7"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("fe80::1%eth0", "fe80::1"),
        ("\t203.0.113.9 ", "203.0.113.9"),
    ],
)
def test_every_spelling_of_an_address_becomes_one(entry: str, address: str) -> None:
    assert peer.peel("10.0.0.1", entry, PROXIES) == address


def test_a_proxy_on_a_dual_stack_socket_is_still_trusted() -> None:
    assert peer.peel("::ffff:10.0.0.1", "203.0.113.9", PROXIES) == "203.0.113.9"


@pytest.mark.parametrize("remote", ["", "unix:/run/halo.sock", "/run/halo.sock", "testclient"])
def test_a_peer_without_an_address_is_unknown_and_not_trusted(remote: str) -> None:
    assert peer.peel(remote, "203.0.113.9", PROXIES) == "unknown"


def test_a_very_long_header_is_read_from_its_end_only() -> None:
    header = ", ".join(["203.0.113.9"] + ["10.0.0.2"] * 5000)
    assert peer.peel("10.0.0.1", header, PROXIES) == "10.0.0.2"


@at_any_pace
@given(client=outsiders, forged=st.text(), hops=st.lists(proxies, max_size=5), last=proxies)
def test_nothing_left_of_the_client_changes_the_answer(
    client: str, forged: str, hops: list[str], last: str
) -> None:
    header = ", ".join([forged, client, *hops])
    assert peer.peel(last, header, PROXIES) == client


@at_any_pace
@given(remote=st.text(), header=st.none() | st.text())
def test_whatever_is_sent_the_answer_is_an_address_or_unknown(
    remote: str, header: str | None
) -> None:
    address = peer.peel(remote, header, PROXIES)
    assert address == "unknown" or str(ipaddress.ip_address(address)) == address


@at_any_pace
@given(address=st.ip_addresses(v=4) | st.ip_addresses(v=6))
def test_an_address_lies_within_its_rate_key_and_its_prefix(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    held = getattr(address, "ipv4_mapped", None) or address
    assert held in ipaddress.ip_network(peer.rate_key(str(address)))
    assert held in ipaddress.ip_network(peer.prefix(str(address)))


@pytest.mark.parametrize(
    ("address", "rate_key", "prefix"),
    [
        ("203.0.113.9", "203.0.113.9", "203.0.113.0/24"),
        ("::ffff:203.0.113.9", "203.0.113.9", "203.0.113.0/24"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1::/48"),
        ("::1", "::/64", "::/48"),
        ("", "unknown", "unknown"),
        ("unknown", "unknown", "unknown"),
        ("/run/halo.sock", "unknown", "unknown"),
    ],
)
def test_callers_are_counted_and_filed_by_network(address: str, rate_key: str, prefix: str) -> None:
    assert (peer.rate_key(address), peer.prefix(address)) == (rate_key, prefix)


def test_the_setting_says_who_is_trusted(settings: Settings) -> None:
    settings.HALO_TRUSTED_PROXIES = []
    assert peer.client_address("10.0.0.1", "203.0.113.9") == "10.0.0.1"
    settings.HALO_TRUSTED_PROXIES = ["10.0.0.1"]
    assert peer.client_address("10.0.0.1", "203.0.113.9") == "203.0.113.9"
    assert peer.client_address("10.0.0.2", "203.0.113.9") == "10.0.0.2"


def test_a_setting_that_is_no_network_is_named(settings: Settings) -> None:
    settings.HALO_TRUSTED_PROXIES = ["proxy.internal"]
    with pytest.raises(ImproperlyConfigured, match=r"HALO_TRUSTED_PROXIES.*proxy\.internal"):
        peer.client_address("10.0.0.1", None)


def test_what_is_too_long_for_an_address_is_not_remembered() -> None:
    before = peer._read.cache_info().currsize
    for number in range(10):
        assert peer.rate_key(f"{number}" * 10_000) == peer.UNKNOWN
        assert peer.peel("192.0.2.1", "9" * 10_000, peer.networks(["192.0.2.1/32"])) == "192.0.2.1"
    assert peer._read.cache_info().currsize <= before + 1
