"""The script for pages, and the documentation that is generated from the contract."""

import gzip

import pytest
from django.test import Client

from ingestion import contract, reference
from ingestion.routes import ROUTES
from tests.docs.doc_pages import ROOT

SCRIPT = ROOT / "static" / "sdk" / "haloagents.umd.js"
MAX_BYTES = 6 * 1024


def test_the_script_is_small_and_strict_policies_permit_it() -> None:
    text = SCRIPT.read_bytes()
    size = len(gzip.compress(text, 9, mtime=0))
    print(f"haloagents.umd.js: {size} bytes with gzip, {len(text)} without")  # noqa: T201  a figure to read
    assert size < MAX_BYTES
    for forbidden in ("eval(", "new Function", ".style", "innerHTML", ".value", "document.cookie"):
        assert forbidden.encode() not in text


@pytest.mark.django_db
def test_the_script_is_served_to_pages_of_every_origin() -> None:
    response = Client().get("/static/sdk/haloagents.umd.js")
    response.close()
    assert response.status_code == 200
    assert response["Access-Control-Allow-Origin"] == "*"
    assert "max-age" in response["Cache-Control"]


def test_the_page_has_the_reference_of_the_contract() -> None:
    page = (ROOT / "docs" / "sdk-api.md").read_text(encoding="utf-8")
    current = reference.replace_section(page, contract.document(ROUTES))
    assert page == current, "Write it again with ./run manage sdk_docs"
