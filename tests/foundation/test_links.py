"""A link leads to a web address or into this server."""

import pytest

from foundation import links

LEADING = [
    "https://help.example.com/a?b=c#d",
    "HTTP://help.example.com",
    "/projects/1",
    "?page=2",
    "#rules",
]
REFUSED = [
    "javascript:alert(1)",
    " javascript:alert(1)",
    "java\nscript:alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "file:///etc/passwd",
    "//evil.example/",
    "/\\evil.example/",
    "/\t/evil.example/",
    "https://",
    "https:evil.example",
    "http://[",
    "mailto:a@b.example",
    "projects/1",
    "",
]


@pytest.mark.parametrize("address", LEADING)
def test_a_link_leads_to_a_web_address_and_into_this_server(address: str) -> None:
    assert links.link_target(address) == address
    assert links.link(address, "<b>").startswith('<a href="')
    assert links.link(address, "<b>").endswith(">&lt;b&gt;</a>")


@pytest.mark.parametrize("address", REFUSED)
def test_another_address_is_no_link(address: str) -> None:
    assert links.link_target(address) == ""
    assert links.link(address, "<b>") == "&lt;b&gt;"
