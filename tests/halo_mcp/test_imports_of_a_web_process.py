"""What a web process has imported once it serves: packages that only some requests need are not."""

import gc
import json
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.drivers import server

# As `./run serve` with one process, up to the first connection.
SERVE = """
import json, sys
from halo_mcp.server import launch, serve

def report(_socket, _processes, application):
    launch.load_application(application)
    modules = {name.partition(".")[0]: module for name, module in list(sys.modules.items())}
    origins = {name: getattr(module, "__file__", None) for name, module in modules.items()}
    print(json.dumps([name for name, file in origins.items() if "site-packages" in (file or "")]))

launch.serve = report
serve.main()
"""
EXPECTED = frozenset(
    {
        # Django, its applications and what they import themselves.
        *("django", "asgiref", "sqlparse", "whitenoise", "corsheaders", "csp", "packaging"),
        *("allauth", "fido2", "environ", "oauth2_provider", "oauthlib", "jwcrypto"),
        *("cryptography", "typing_extensions"),
        # The server and HTTP.
        *("uvicorn", "click", "httptools", "h11", "websockets", "watchfiles", "anyio", "sniffio"),
        *("httpx2", "httpcore2", "idna", "truststore", "uvloop"),
        # Logs.
        *("structlog", "rich", "pygments", "attr"),
        # Calls, and documents of projects.
        *("orjson", "jsonschema_rs", "yaml", "markdown_it", "mdurl"),
    }
)
HINT = (
    "A web process imports these packages at its start. Import each in the function that needs it, "
    "with `# noqa: PLC0415` and the reason, or add it to EXPECTED if most requests need it."
)


def runtime_packages() -> set[str]:
    """What the product installs; libraries import some packages of development if they exist."""
    lock = (server.ROOT / "requirements" / "runtime.txt").read_text(encoding="utf-8")
    locked = set(re.findall(r"^([a-z0-9-]+)==", lock, re.MULTILINE))
    return {
        package
        for package, names in packages_distributions().items()
        if locked & {re.sub(r"[-_.]+", "-", name).lower() for name in names}
    }


@pytest.mark.once
def test_a_web_process_imports_only_what_most_requests_need(tmp_path: Path) -> None:
    env = server.environment(tmp_path, server.free_port())
    for name in ("DATABASE_URL", "REDIS_URL"):
        env.pop(name, None)
    server.lay_tables(env)
    served = subprocess.run(
        [sys.executable, "-c", SERVE],
        cwd=server.ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=server.START_SECONDS,
    )
    assert served.returncode == 0, served.stderr
    imported = {*json.loads(served.stdout.splitlines()[1])}
    packages = {name for name in imported & runtime_packages() if not name.startswith("_")}
    assert {"django", "uvicorn"} <= packages
    assert packages - EXPECTED == set(), HINT


@pytest.mark.once
def test_garbage_is_collected_after_the_start() -> None:
    assert gc.isenabled()
    assert gc.get_freeze_count()
