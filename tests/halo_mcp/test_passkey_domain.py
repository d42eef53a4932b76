import pytest

from halo_mcp import passkeys


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ("https://mcp.example.com", "mcp.example.com"),
        ("https://mcp.example.com:8443", "mcp.example.com"),
        ("https://intranet", "intranet"),
        ("http://localhost:8000", "localhost"),
        ("http://halo.localhost:8000", "halo.localhost"),
        ("https://localhost", "localhost"),
        ("http://mcp.example.com", ""),
        ("http://notlocalhost", ""),
        ("http://127.0.0.1:8000", ""),
        ("https://192.0.2.7", ""),
        ("https://[2001:db8::1]", ""),
        ("https://[::1]:8443", ""),
        ("https://0x7f.1", ""),
        ("https://example.com.", "example.com."),
    ],
)
def test_passkeys_need_a_name_and_a_secure_context(origin: str, name: str) -> None:
    assert passkeys.domain(origin) == name
