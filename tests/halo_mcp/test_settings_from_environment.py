"""What the environment becomes: the settings of a process of its own."""

import json
import os
import re
from typing import Any

import pytest

from tests.drivers import forked_commands
from tests.drivers.server import ROOT

pytestmark = pytest.mark.process

EXAMPLE = ROOT / ".env.example"


def read(names: str, **env: str) -> dict[str, Any]:
    """The named settings of a command that is run with these variables."""
    code = (
        "import json; from django.conf import settings; "
        f"print(json.dumps({{name: getattr(settings, name) for name in {names.split()!r}}}))"
    )
    found: dict[str, Any] = json.loads(evaluate(code, **env))
    return found


def evaluate(code: str, **env: str) -> str:
    """What a command prints that is run with these variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HALO_")}
    own = {
        "DJANGO_SETTINGS_MODULE": "halo_mcp.settings",
        "HALO_DATA_DIR": os.environ["HALO_DATA_DIR"],
    }
    done = forked_commands.run(["-c", code], kept | own | env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_options_of_a_database_url_stand_next_to_our_own() -> None:
    url = "postgres://halo@db.example:5432/halo?sslmode=verify-full&sslrootcert=/etc/ca.pem"
    options = read("DATABASES", DATABASE_URL=url)["DATABASES"]["default"]["OPTIONS"]

    assert options["sslmode"] == "verify-full"
    assert options["sslrootcert"] == "/etc/ca.pem"
    assert options["server_side_binding"] is True


def test_a_url_cannot_switch_off_what_the_server_relies_on() -> None:
    url = "postgres://halo@db.example:5432/halo?prepare_threshold=0"
    options = read("DATABASES", DATABASE_URL=url)["DATABASES"]["default"]["OPTIONS"]

    assert options["prepare_threshold"] == 5


@pytest.mark.parametrize(
    ("host", "url", "answered"),
    [
        ("::1", "http://[::1]:8123", "[::1]"),
        ("2001:db8::7", "http://[2001:db8::7]:8123", "[2001:db8::7]"),
        ("127.0.0.1", "http://127.0.0.1:8123", "localhost"),
        ("mcp.example.com", "http://mcp.example.com:8123", "mcp.example.com"),
    ],
)
def test_the_public_address_follows_from_host_and_port(host: str, url: str, answered: str) -> None:
    found = read("HALO_PUBLIC_URL ALLOWED_HOSTS", HOST=host, PORT="8123")

    assert found["HALO_PUBLIC_URL"] == url
    assert answered in found["ALLOWED_HOSTS"]


@pytest.mark.parametrize(
    ("env", "hosts"),
    [
        ({}, 3),
        ({"HALO_PUBLIC_URL": "http://localhost:8123"}, 3),
        ({"HALO_ENV": "development", "HALO_PUBLIC_URL": "https://tools.corp.example"}, 0),
        ({"HALO_ENV": "development", "HALO_PUBLIC_URL": "http://192.168.7.20:8000"}, 0),
        ({"HALO_ENV": "development", "HOST": "192.168.7.20"}, 0),
        ({"HALO_ENV": "production"}, 0),
    ],
)
def test_projects_and_models_reach_this_computer_only_if_nobody_else_reaches_the_server(
    env: dict[str, str], hosts: int
) -> None:
    code = (
        "from django.conf import settings; "
        "print(len(settings.HALO_GATEWAY_PRIVATE_HOSTS), len(settings.HALO_AGENTS_PRIVATE_HOSTS))"
    )
    assert evaluate(code, **env).split() == [str(hosts)] * 2


def test_an_empty_variable_is_an_unset_one() -> None:
    unset = everything(DATABASE_URL="", REDIS_URL="")
    # Without the folder in which this test keeps its files.
    names = set(re.findall(r"(?m)^#?([A-Z_]+)=", EXAMPLE.read_text())) - {"HALO_DATA_DIR"}

    assert len(names) > 30
    assert everything(**dict.fromkeys(names, "")) == unset
    assert everything(**dict.fromkeys(names, "  ")) == unset


def everything(**env: str) -> str:
    """All settings of ours as text, without the secrets that are generated at each start."""
    code = (
        "from django.conf import settings; "
        "print({name: getattr(settings, name) for name in sorted(dir(settings)) "
        "if name.startswith(('HALO_', 'DATABASES', 'REDIS', 'CELERY', 'ALLOWED', 'EMAIL'))})"
    )
    # Sets are printed in the order of their hashes, which the forks of one process share.
    return evaluate(code, **env)
