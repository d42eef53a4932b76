"""What every test stands on: an environment of its own, read before Django's settings are."""

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django
import hypothesis
import pytest

# Where Python is told to keep no compiled modules, each of the many processes that are started here
# would compile all of Django for itself, which takes it twice as long as all that follows.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
DATA_DIR = Path(tempfile.mkdtemp(prefix="halo-tests-"))
atexit.register(shutil.rmtree, DATA_DIR, ignore_errors=True)

for name in [name for name in os.environ if name.startswith("HALO_") and "TEST" not in name]:
    del os.environ[name]
os.environ["HALO_DATA_DIR"] = str(DATA_DIR)
os.environ["HOST"], os.environ["PORT"] = "127.0.0.1", "8000"
if redis_url := os.environ.get("REDIS_URL"):
    # A Redis database for each test process, away from 0, where somebody's own data may be. The
    # path is replaced, for workers inherit the address that their parent has changed already.
    own = urlsplit(redis_url)._replace(path=f"/{1 + int(WORKER) % 15}")
    os.environ["REDIS_URL"] = own.geturl()
# Named here and not in pyproject.toml, and not left to the worker processes either: where it finds
# the name, pytest-django reads the settings before this file has set the environment.
os.environ["DJANGO_SETTINGS_MODULE"] = "halo_mcp.settings"
django.setup()
del os.environ["DJANGO_SETTINGS_MODULE"]

# A busy machine is no failure: no example has a deadline.
hypothesis.settings.register_profile("halo", hypothesis.settings(), deadline=None)
hypothesis.settings.load_profile("halo")


def pytest_itemcollected(item: pytest.Item) -> None:
    """What starts a server or a browser takes seconds: `./run test` alone leaves it to CI."""
    if item.get_closest_marker("process") or item.get_closest_marker("browser"):
        item.add_marker("slow")


@pytest.fixture(autouse=True)
def _fresh_counters() -> Iterator[None]:
    """Every test starts with empty rate limits, wherever they are counted."""
    from django.core.cache import cache  # noqa: PLC0415  settings first

    from foundation import limits  # noqa: PLC0415

    if os.environ.get("REDIS_URL"):
        import redis  # noqa: PLC0415

        with redis.Redis.from_url(os.environ["REDIS_URL"]) as store:
            store.flushdb()
    cache.clear()
    limits.reset_store()
    limits.reset_shares()
    yield
    limits.reset_store()
    limits.reset_shares()


@pytest.fixture(autouse=True)
def _cheap_passwords(settings: Any) -> None:
    """The deployed hash costs a quarter of a second a person; no test is about its strength."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True, scope="session")
def _static_files_found_once() -> Iterator[None]:
    """Every test client builds the middleware anew; its files on disk stay what they are."""
    from whitenoise.middleware import WhiteNoiseMiddleware  # noqa: PLC0415  settings first

    found: dict[str, Any] = {}
    look = WhiteNoiseMiddleware.add_files_from_finders

    def look_once(middleware: Any) -> None:
        if not found:
            look(middleware)
            found.update(middleware.files)
        middleware.files.update(found)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(WhiteNoiseMiddleware, "add_files_from_finders", look_once)
        yield


pytest_plugins = ["tests.drivers.fixtures"]
