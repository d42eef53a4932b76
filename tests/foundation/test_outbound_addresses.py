import ipaddress
import itertools
import socket
from collections.abc import Callable

import pytest

from foundation.outbound import Policy, RefusedAddress, fetch, vet
from foundation.outbound.addresses import is_private, is_public

INTERNAL = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
]
INTERNAL_IPV6 = [
    "::/96",  # unspecified, loopback, IPv4-compatible
    "::ffff:0:0:0/96",  # translated
    "64:ff9b:1::/48",
    "100::/64",
    "2001::/23",  # Teredo, benchmarks, ORCHID
    "2001:db8::/32",
    "2002::/16",
    "3fff::/20",
    "4000::/3",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
]
PUBLIC = ["1.1.1.1", "8.8.8.8", "93.184.216.34", "172.32.0.1", "100.128.0.1", "223.255.255.254"]
PUBLIC_IPV6 = ["2606:4700:4700::1111", "2001:4860:4860::8888", "2a00:1450:4001::1", "2400::1"]


def ends(network: str) -> list[str]:
    span = ipaddress.ip_network(network)
    return [str(span[0]), str(span[span.num_addresses // 2]), str(span[-1])]


@pytest.mark.parametrize("network", INTERNAL + INTERNAL_IPV6)
def test_no_special_range_is_public(network: str) -> None:
    assert not any(is_public(ipaddress.ip_address(address)) for address in ends(network))


@pytest.mark.parametrize("form", ["::ffff:0:0", "64:ff9b::", "2002::", "::", "::ffff:0:0:0"])
def test_an_internal_ipv4_address_is_not_public_inside_ipv6(form: str) -> None:
    shift = 80 if form == "2002::" else 0
    for address in itertools.chain.from_iterable(map(ends, INTERNAL)):
        inside = int(ipaddress.IPv6Address(form)) + (int(ipaddress.IPv4Address(address)) << shift)
        assert not is_public(ipaddress.IPv6Address(inside)), address


@pytest.mark.parametrize("address", PUBLIC + PUBLIC_IPV6)
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("form", ["::ffff:0:0", "64:ff9b::"])
def test_a_public_ipv4_address_stays_public_where_a_network_translates_it(form: str) -> None:
    for address in PUBLIC:
        inside = int(ipaddress.IPv6Address(form)) + int(ipaddress.IPv4Address(address))
        assert is_public(ipaddress.IPv6Address(inside)), address


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "::1", "fd00::1"],
)
def test_a_private_address_may_be_approved(address: str) -> None:
    assert is_private(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        *("169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "0.0.0.7"),
        *("224.0.0.1", "255.255.255.255", "fd00:ec2::254", "fe80::1", "::", "ff02::1"),
        *("::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "64:ff9b::6464:64c8"),
    ],
)
def test_no_approval_opens_metadata_or_a_range_that_is_no_network(address: str) -> None:
    assert not is_private(ipaddress.ip_address(address))


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "169.254.169.254", "[::ffff:10.0.0.1]"])
def test_a_url_with_an_internal_address_is_refused_unfetched(host: str) -> None:
    with pytest.raises(RefusedAddress):
        vet(f"https://{host}/a")


@pytest.mark.parametrize("url", ["https://1.1.1.1/", "https://example.com/", "https://localhost/"])
def test_vetting_a_url_looks_no_name_up(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", None)
    vet(url)


def test_an_approved_address_passes() -> None:
    vet("https://10.1.2.3/", policy=Policy(allowed_private_hosts=frozenset({"10.1.2.3"})))


@pytest.mark.parametrize(
    "answers",
    [
        ["127.0.0.1"],
        ["::1"],
        ["93.184.216.34", "10.0.0.1"],
        ["2606:4700:4700::1111", "fd00:ec2::254"],
        ["64:ff9b:1::a9fe:a9fe"],
        ["::127.0.0.1"],
        ["::ffff:0:127.0.0.1"],
        ["fec0::1"],
        ["fe80::1%lo"],
        ["224.0.0.1"],
        ["192.88.99.1"],
        ["168.63.129.16"],
        ["192.0.0.192"],
    ],
)
def test_one_internal_answer_refuses_the_name_and_nothing_is_sent(
    answers: list[str], names: dict[str, list[str]], no_connections: Callable[[], None]
) -> None:
    names["rebind.example"] = answers
    no_connections()
    with pytest.raises(RefusedAddress, match=r"^rebind\.example: "):
        fetch("GET", "https://rebind.example/")


def test_an_approved_name_may_not_lead_to_metadata(
    names: dict[str, list[str]], no_connections: Callable[[], None]
) -> None:
    names["crm.internal"] = ["10.0.0.1", "169.254.169.254"]
    no_connections()
    with pytest.raises(RefusedAddress):
        fetch(
            "GET",
            "https://crm.internal/",
            policy=Policy(allowed_private_hosts=frozenset({"crm.internal"})),
        )


def test_approving_one_name_approves_no_other(
    names: dict[str, list[str]], no_connections: Callable[[], None]
) -> None:
    names["evil.crm.internal"] = ["10.0.0.1"]
    no_connections()
    with pytest.raises(RefusedAddress):
        fetch(
            "GET",
            "https://evil.crm.internal/",
            policy=Policy(allowed_private_hosts=frozenset({"crm.internal"})),
        )
