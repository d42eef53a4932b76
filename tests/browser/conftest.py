"""Chromium for the tests of one file, and a visitor for each."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser import callback, chromium
from tests.browser.callback import Callback
from tests.browser.chromium import WANTED_PICTURES, SharedBrowser, Visitor
from tests.drivers.server import Server


# For a whole file: other tests of the file, too, meet a thread with a running loop.
@pytest.fixture(scope="module")
def browser(shared_browser: SharedBrowser) -> Iterator[Browser]:
    with shared_browser.use() as browser:
        yield browser


@pytest.fixture
def visitor(browser: Browser, server: Server) -> Iterator[Visitor]:
    """A visitor whose pages may break no policy and report no error."""
    with chromium.visiting(browser, server.url) as visitor:
        yield visitor
        assert visitor.problems == []


@pytest.fixture
def program() -> Iterator[Callback]:
    """A program on this computer that waits for the answer."""
    with callback.waiting() as waiting:
        yield waiting


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots go, for people to look at: HALO_TEST_PICTURES or a temporary folder."""
    if folder := os.environ.get(WANTED_PICTURES):
        Path(folder).mkdir(parents=True, exist_ok=True)
        return Path(folder)
    return tmp_path_factory.mktemp("pictures")
