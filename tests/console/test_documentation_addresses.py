"""Every address in a page is the deployment's own, wherever the page is read (SPEC-9)."""

from pathlib import Path

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from documentation import index
from documentation.addresses import EXAMPLES, localize_addresses
from documentation.snippet import CLOSED, OPENED, snippet
from tests.docs.doc_pages import PAGES, STAFF_PAGES
from tests.drivers.mcp import McpClient

PUBLIC_URL = "https://mcp.example.com:8401"
PAGE = """# Connecting

The endpoint is `http://127.0.0.1:8000/api/mcp`, also http://localhost:8000/api/mcp in a browser.

```sh
curl http://127.0.0.1:8000/health  # and not http://127.0.0.1:80001/ or 127.0.0.1:8000
```
"""


@pytest.fixture(autouse=True)
def _connecting(settings: Settings, tmp_path: Path, db: None) -> None:  # noqa: ARG001  opens the database
    (tmp_path / "connecting.md").write_text(PAGE)
    (tmp_path / "operate").mkdir()
    (tmp_path / "operate" / "running.md").write_text(PAGE.replace("Connecting", "Running"))
    index.refresh(tmp_path)
    settings.HALO_DOCS_SOURCE = tmp_path.resolve()
    settings.HALO_PUBLIC_URL = PUBLIC_URL


def assert_localized(text: str) -> None:
    assert f"{PUBLIC_URL}/" in text
    assert not [example for example in EXAMPLES if f"{example}/" in text]


def test_spec9_a_page_in_the_console_has_the_address_of_the_deployment(
    client: Client, admin_client: Client
) -> None:
    for reader, path in ((client, "/docs/connecting"), (admin_client, "/docs/operate/running")):
        shown = reader.get(path).content.decode()
        assert_localized(shown)
        assert f"curl {PUBLIC_URL}/health  # and not http://127.0.0.1:80001/ or 127.0" in shown


def test_spec9_models_read_and_find_the_address_of_the_deployment(mcp: McpClient) -> None:
    assert_localized(mcp.call("read_doc", {"page": "connecting"}).facts["text"])
    (page,) = mcp.request("resources/read", {"uri": "docs://connecting"}).result["contents"]
    assert_localized(page["text"])
    (hit,) = mcp.call("search_docs", {"query": "endpoint"}).facts["results"]
    assert_localized(hit["snippet"])
    assert hit["url"] == f"{PUBLIC_URL}/docs/connecting"


@pytest.mark.parametrize(
    "query", ["127.0.0.1:8000", "8000 api", "http localhost", "8000", "api mcp"]
)
def test_spec9_words_of_an_address_may_be_searched_for(
    client: Client, mcp: McpClient, query: str
) -> None:
    (hit,) = mcp.call("search_docs", {"query": query}).facts["results"]
    assert_localized(hit["snippet"].replace("**", ""))
    assert hit["snippet"].count("**") % 2 == 0
    found = client.get("/docs/", {"q": query}).content.decode()
    assert "mcp.example.com:8401" in found


@pytest.mark.parametrize(
    ("marked", "shown"),
    [
        ("<http>://127.0.0.1:<8000>/", f"{PUBLIC_URL}/"),
        ("<at http>://127.0.0.1:8000/", f"**at **{PUBLIC_URL}/"),
        ("http://localhost:<8000/api>/mcp", f"{PUBLIC_URL}**/api**/mcp"),
        ("<at http>://localhost:<8000/api>", f"**at **{PUBLIC_URL}**/api**"),
    ],
)
def test_spec9_marks_of_a_search_stay_in_pairs(marked: str, shown: str) -> None:
    text = marked.replace("<", OPENED).replace(">", CLOSED)
    assert snippet(localize_addresses(text)) == shown


@pytest.mark.parametrize("file", [*PAGES, *STAFF_PAGES], ids=lambda file: file.stem)
def test_spec9_no_page_of_ours_keeps_an_example_address(file: Path) -> None:
    text = localize_addresses(file.read_text(encoding="utf-8"))
    assert not [example for example in EXAMPLES if example in text]
    assert "localhost:8000" not in text
