import datetime as dt
import ipaddress
import socket
import ssl
from pathlib import Path
from typing import Any, Protocol

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from foundation.outbound import Policy, TimedOut, Unreachable, client, fetch


class TlsSite(Protocol):
    port: int
    server: Any
    seen: list[Any]
    answers: dict[str, Any]

    def policy(self, **changes: Any) -> Policy: ...


def certificate(
    name: str, key: ec.EllipticCurvePrivateKey, alternatives: list[x509.GeneralName]
) -> x509.Certificate:
    """Return a certificate for the names that is its own authority."""
    called = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    return (
        x509.CertificateBuilder()
        .subject_name(called)
        .issuer_name(called)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(dt.datetime(2000, 1, 1, tzinfo=dt.UTC))
        .not_valid_after(dt.datetime(2100, 1, 1, tzinfo=dt.UTC))
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )


@pytest.fixture(scope="session")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Key and certificate of crm.internal and 127.0.0.1 in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    made = certificate(
        "crm.internal",
        key,
        [x509.DNSName("crm.internal"), x509.IPAddress(ipaddress.IPv4Address("127.0.0.1"))],
    )
    path = tmp_path_factory.mktemp("tls") / "crm.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.fixture
def server_names(site: TlsSite, chain: Path) -> list[str | None]:
    """Put TLS in front of the site; the names clients ask for (SNI) are noted."""
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(chain)
    names: list[str | None] = []
    served.sni_callback = lambda _socket, name, _context: names.append(name)
    site.server.socket = served.wrap_socket(
        site.server.socket, server_side=True, do_handshake_on_connect=False
    )
    return names


@pytest.fixture
def trusted_chain(chain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = ssl.create_default_context(cafile=str(chain))
    monkeypatch.setattr(client, "tls_context", lambda: context)


def answer(handler: Any) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


def approving_policy(site: TlsSite, host: str) -> Policy:
    return site.policy(https_only=True, allowed_private_hosts=frozenset({host}))


@pytest.mark.usefixtures("trusted_chain")
def test_the_certificate_is_checked_against_the_name_behind_the_pinned_address(
    site: TlsSite, names: dict[str, list[str]], server_names: list[str | None]
) -> None:
    names["crm.internal"] = ["127.0.0.1"]
    site.answers["/a"] = answer
    policy = approving_policy(site, "crm.internal")
    assert fetch("GET", f"https://crm.internal:{site.port}/a", policy=policy).body == b"ok"
    assert server_names == ["crm.internal"]


@pytest.mark.usefixtures("trusted_chain", "server_names")
def test_a_certificate_for_another_name_is_not_accepted(
    site: TlsSite, names: dict[str, list[str]]
) -> None:
    names["other.internal"] = ["127.0.0.1"]
    policy = approving_policy(site, "other.internal")
    with pytest.raises(Unreachable, match=r"^other\.internal: its certificate"):
        fetch("GET", f"https://other.internal:{site.port}/a", policy=policy)
    assert site.seen == []


@pytest.mark.usefixtures("trusted_chain", "server_names")
def test_an_address_needs_a_certificate_of_its_own(site: TlsSite) -> None:
    site.answers["/a"] = answer
    url = f"https://127.0.0.1:{site.port}/a"
    assert fetch("GET", url, policy=approving_policy(site, "127.0.0.1")).body == b"ok"


@pytest.mark.usefixtures("server_names")
def test_an_unknown_authority_is_not_trusted(site: TlsSite) -> None:
    url = f"https://127.0.0.1:{site.port}/a"
    with pytest.raises(Unreachable, match="its certificate"):
        fetch("GET", url, policy=approving_policy(site, "127.0.0.1"))
    assert site.seen == []


@pytest.mark.usefixtures("server_names")
def test_the_environment_adds_no_authority(
    site: TlsSite, chain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(chain))
    client.tls_context.cache_clear()
    with pytest.raises(Unreachable, match="its certificate"):
        fetch("GET", f"https://127.0.0.1:{site.port}/a", policy=approving_policy(site, "127.0.0.1"))
    client.tls_context.cache_clear()


def test_a_server_without_tls_is_unreachable_over_https(site: TlsSite) -> None:
    with pytest.raises(Unreachable):
        fetch("GET", f"https://127.0.0.1:{site.port}/a", policy=approving_policy(site, "127.0.0.1"))


def test_a_handshake_that_never_ends_runs_into_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        policy = Policy(
            allowed_private_hosts=frozenset({"127.0.0.1"}),
            allowed_ports=frozenset({port}),
            connect_timeout=0.2,
        )
        with pytest.raises(TimedOut):
            fetch("GET", f"https://127.0.0.1:{port}/", policy=policy)
