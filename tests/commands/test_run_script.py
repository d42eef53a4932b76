"""`./run` on machines that are not as it needs them: one clear line each, and nothing half-done."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands import checkout
from tests.commands.checkout import Checkout

pytestmark = pytest.mark.process

OLD_PYTHON = 'case "$1" in --version) echo "Python 3.9.2" ;; *) exit 1 ;; esac'
PYTHON_WITHOUT_VENV = 'case "$*" in *"import venv"*) exit 1 ;; *) exit 0 ;; esac'

# Tells from which folder it was called; what it installs is a folder.
NPM = 'mkdir -p node_modules; printf "npm %s in %s\\n" "$*" "${PWD##*/}" >> ../../calls'
NPM_CI = "npm ci --loglevel=error --no-progress in"


def installs(call: str, lock: str) -> bool:
    """Return whether a call installs a lock as it is: verified, and without resolving anything."""
    return (
        " install " in call
        and {"--require-hashes", "--no-deps"} <= set(call.split())
        and call.endswith(f"-r requirements/{lock}.txt")
    )


@pytest.fixture
def clone(tmp_path: Path) -> Checkout:
    return checkout.make(tmp_path)


@pytest.fixture
def clone_for_anyone() -> Iterator[Checkout]:
    """A clone below no private folder, so that another user can come to it."""
    folder = Path(tempfile.mkdtemp(prefix="halo-clone-"))
    folder.chmod(0o755)
    try:
        yield checkout.make(folder)
    finally:
        (folder / "a clone").chmod(0o755)
        shutil.rmtree(folder)


def test_a_python_that_is_too_old_is_named(clone: Checkout) -> None:
    clone.program("python3", OLD_PYTHON)

    done = clone.run()

    assert done.returncode == 1
    assert done.stderr == "run: Python 3.11 or newer is required; found Python 3.9.2.\n"
    assert not (clone.folder / ".venv").exists()


def test_a_machine_without_python_gets_a_message(clone: Checkout) -> None:
    done = clone.run()

    assert done.returncode == 1
    assert done.stderr == "run: Python 3.11 or newer is required; found none.\n"


def test_a_newer_python_next_to_an_old_one_is_used(clone: Checkout) -> None:
    clone.program("python3", OLD_PYTHON)
    clone.program("python3.12", checkout.NEW_PYTHON)

    assert clone.run().returncode == 0
    assert (clone.folder / ".venv/bin/python").exists()


def test_a_python_without_venv_is_shown_what_to_install(clone: Checkout) -> None:
    clone.program("python3", PYTHON_WITHOUT_VENV)

    done = clone.run()

    assert done.returncode == 1
    assert (
        done.stderr
        == "run: python3 has no venv module (on Debian: apt-get install python3-venv).\n"
    )


def test_a_folder_that_cannot_be_written_to_is_reported_in_one_line(
    clone_for_anyone: Checkout,
) -> None:
    clone_for_anyone.program("python3", checkout.NEW_PYTHON)
    clone_for_anyone.folder.chmod(0o555)

    # Root may write anywhere, so root asks as somebody else.
    done = clone_for_anyone.run(user="nobody" if os.geteuid() == 0 else None)

    assert done.returncode == 1
    assert done.stderr == (
        "run: this folder cannot be written to; .venv and var are created in it.\n"
    )


def test_a_first_run_installs_the_runtime_lock_with_hashes_and_then_starts(
    clone: Checkout,
) -> None:
    clone.program("python3", checkout.NEW_PYTHON)

    done = clone.run()

    assert done.returncode == 0
    *_, installed, compiled, checked, started = clone.calls
    assert installs(installed, "runtime")
    assert compiled.startswith("-m compileall ")
    assert checked.endswith(" check")
    assert started == "manage.py up"


def test_packages_that_do_not_fit_together_are_reported(clone: Checkout) -> None:
    venv = '"-m venv .venv")'
    check_fails = f'*" check") exit 1 ;;\n    {venv}'
    clone.program("python3", checkout.NEW_PYTHON.replace(venv, check_fails))

    done = clone.run()

    assert done.returncode == 1
    assert "Delete .venv and run this again." in done.stderr.splitlines()[-1]
    assert "manage.py up" not in clone.calls


def test_the_interpreter_that_python_names_is_used_or_refused(clone: Checkout) -> None:
    clone.program("python3", checkout.NEW_PYTHON)
    clone.program("old", OLD_PYTHON)
    clone.program("chosen", checkout.NEW_PYTHON.replace("calls", "calls-of-the-chosen"))

    refused = clone.run(env={"PYTHON": "old"})

    assert refused.returncode == 1
    assert refused.stderr == "run: PYTHON=old is not Python 3.11 or newer.\n"
    assert clone.run(env={"PYTHON": "chosen"}).returncode == 0
    assert (clone.folder / "calls-of-the-chosen").exists()


def test_settings_that_are_empty_are_unset_for_what_is_started(clone: Checkout) -> None:
    clone.program("python3", f"printenv HALO_ENV DATABASE_URL REDIS_URL\n{checkout.NEW_PYTHON}")
    (clone.tools / "printenv").symlink_to(str(shutil.which("printenv")))
    empty = {"HALO_ENV": "", "DATABASE_URL": "", "REDIS_URL": ""}

    assert clone.run("serve", env=empty).stdout == ""
    assert clone.run("serve", env=empty | {"HALO_ENV": "production"}).stdout == "production\n"


def test_a_deployment_s_server_is_started_with_its_words(clone: Checkout) -> None:
    clone.program("python3", checkout.NEW_PYTHON)

    assert clone.run("serve", "--workers", "2").returncode == 0

    assert clone.calls[-1] == "-m halo_mcp.server.serve --workers 2"


def test_uv_installs_where_there_is_one(clone: Checkout) -> None:
    clone.program("python3", checkout.NEW_PYTHON)
    clone.program("uv", 'printf "uv %s\\n" "$*" >> calls')

    clone.run()

    installed, checked, started = clone.calls
    assert installed.startswith("uv ")
    assert installs(installed, "runtime")
    assert checked.startswith("uv pip check ")
    assert started == "manage.py up"


def test_a_second_run_installs_nothing(clone: Checkout) -> None:
    clone.program("python3", checkout.NEW_PYTHON)
    clone.run()
    assert clone.calls != []

    done = clone.run()

    assert clone.calls == ["manage.py up"]
    assert done.stderr == ""


def test_a_changed_lock_is_installed_again(clone: Checkout) -> None:
    clone.program("python3", checkout.NEW_PYTHON)
    clone.run()
    assert clone.calls != []

    with (clone.folder / "requirements/runtime.txt").open("a") as lock:
        lock.write("# another day\n")
    clone.run()

    assert any(installs(call, "runtime") for call in clone.calls)


def test_the_development_lock_serves_for_running_too(clone: Checkout) -> None:
    clone.program("python3", checkout.NEW_PYTHON)
    clone.run("test")
    assert any(installs(call, "dev") for call in clone.calls)

    clone.run()

    assert clone.calls == ["manage.py up"]


def test_an_installation_that_fails_is_tried_again_by_the_next_run(clone: Checkout) -> None:
    clone.program("python3", checkout.NEW_PYTHON)
    clone.program("uv", "echo 'no route to host' >&2; exit 2")

    failed = clone.run()

    assert failed.returncode == 1
    assert failed.stderr.splitlines()[-1] == "run: could not install requirements/runtime.txt."
    assert clone.calls == []

    clone.program("uv", "printf 'uv\\n' >> calls")
    clone.run()
    assert clone.calls[-1] == "manage.py up"


@pytest.mark.parametrize(
    ("words", "reached"),
    [
        ((), "manage.py up"),
        (("up",), "manage.py up"),
        (("manage", "shell", "-c", "print(1)"), "manage.py shell -c print(1)"),
        (("test",), "-m pytest -n auto --dist worksteal -m not slow"),
        (("test", "-k", "a name"), "-m pytest -n auto --dist worksteal -k a name"),
    ],
)
def test_each_word_reaches_its_program(
    clone: Checkout, words: tuple[str, ...], reached: str
) -> None:
    clone.program("python3", checkout.NEW_PYTHON)

    clone.run(*words)

    assert clone.calls[-1] == reached


def test_the_number_of_test_processes_can_be_set(clone: Checkout) -> None:
    clone.program("python3", checkout.NEW_PYTHON)

    clone.run("test", env={"HALO_TEST_PROCESSES": "2"})

    assert clone.calls[-1] == "-m pytest -n 2 --dist worksteal -m not slow"


@pytest.fixture
def with_npm(clone: Checkout) -> Checkout:
    clone.program("python3", checkout.NEW_PYTHON)
    clone.program("npm", NPM)
    clone.program("node", "echo 2219")
    return clone


def test_the_clients_are_run_from_their_own_packages(with_npm: Checkout) -> None:
    assert with_npm.run("clients", "-x").returncode == 0

    *before, node_packages, reached = with_npm.calls
    assert any(installs(call, "dev") for call in before)
    assert node_packages == f"{NPM_CI} clients"
    assert reached == (
        "-m pytest -n 0 -v -p tests.drivers.no_skips"
        " tests/clients tests/end_to_end/test_strict_clients.py"
        " tests/end_to_end/test_real_clients.py tests/end_to_end/test_official_client.py -x"
    )


def test_the_packages_of_python_and_npm_are_installed_by_one_command(with_npm: Checkout) -> None:
    assert with_npm.run("packages").returncode == 0
    calls = with_npm.calls
    assert any(installs(call, "dev") for call in calls)
    assert {f"{NPM_CI} clients", f"{NPM_CI} conformance"} <= {*calls}
    with_npm.run("packages")
    assert with_npm.calls == []


def test_packages_of_python_are_installed_on_a_machine_without_npm(clone: Checkout) -> None:
    clone.program("python3", checkout.NEW_PYTHON)
    done = clone.run("packages")
    assert done.returncode == 1
    assert "run: npm is required" in done.stderr
    assert any(installs(call, "dev") for call in clone.calls)


def test_the_page_of_clients_is_written_on_demand(with_npm: Checkout) -> None:
    with_npm.run("clients", "--write-docs")

    assert with_npm.calls[-2:] == [f"{NPM_CI} clients", "-m tests.clients.compatibility"]


def test_the_clients_of_the_day_install_what_they_need_themselves(with_npm: Checkout) -> None:
    assert with_npm.run("verify", "clients", "gemini").returncode == 0

    *before, node_packages, reached = with_npm.calls
    assert any(installs(call, "dev") for call in before)
    assert node_packages == f"{NPM_CI} clients"
    assert reached == "-m tests.clients.daily gemini"


@pytest.mark.parametrize("number", [1820, 2218])
def test_where_node_is_old_the_clients_are_brought_a_newer_one(
    with_npm: Checkout, number: int
) -> None:
    with_npm.program("node", f"echo {number}")

    with_npm.run("clients")

    assert with_npm.calls[-3:-1] == [f"{NPM_CI} clients", f"{NPM_CI} conformance"]


def test_the_official_suite_is_run_from_its_own_packages(with_npm: Checkout) -> None:
    assert with_npm.run("conformance", "authorization").returncode == 0

    assert with_npm.calls[-2:] == [
        f"{NPM_CI} conformance",
        "-m tests.conformance authorization",
    ]


def test_the_server_for_somebody_else_s_suite_is_started_without_npm(clone: Checkout) -> None:
    clone.program("python3", checkout.NEW_PYTHON)

    assert clone.run("conformance", "--serve-only").returncode == 0

    assert clone.calls[-1] == "-m tests.conformance --serve-only"


def test_node_packages_are_installed_once_and_again_when_their_lock_changed(
    with_npm: Checkout,
) -> None:
    with_npm.run("conformance")
    assert with_npm.calls != []

    with_npm.run("conformance")
    assert with_npm.calls == ["-m tests.conformance"]

    with (with_npm.folder / "tests/conformance/package-lock.json").open("a") as lock:
        lock.write("\n")
    with_npm.run("conformance")
    assert with_npm.calls == [f"{NPM_CI} conformance", "-m tests.conformance"]


@pytest.mark.parametrize("word", ["clients", "conformance"])
def test_a_machine_without_npm_is_shown_what_to_install(clone: Checkout, word: str) -> None:
    clone.program("python3", checkout.NEW_PYTHON)

    done = clone.run(word)

    assert done.returncode == 1
    assert done.stderr == ("run: npm is required (on Debian: apt-get install nodejs npm).\n")
    assert clone.calls == []


@pytest.mark.parametrize("word", ["clients", "conformance"])
def test_node_packages_that_cannot_be_had_are_tried_for_again(
    with_npm: Checkout, word: str
) -> None:
    with_npm.program("npm", "echo 'no route to host' >&2; mkdir -p node_modules; exit 1")

    failed = with_npm.run(word)

    assert failed.returncode == 1
    assert failed.stderr.splitlines()[-2:] == [
        "no route to host",
        f"run: could not install tests/{word}/package-lock.json.",
    ]
    assert not any("tests." in call for call in with_npm.calls)

    with_npm.program("npm", NPM)
    with_npm.run(word)
    assert f"{NPM_CI} {word}" in with_npm.calls


def test_an_unknown_word_is_answered_with_the_known_ones(clone: Checkout) -> None:
    done = clone.run("deploy")

    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    words = ("deploy", "./run test", "./run check", "./run clients", "./run conformance")
    assert all(word in line for word in (*words, "./run serve", "./run manage"))


def test_help_says_what_there_is(clone: Checkout) -> None:
    done = clone.run("help")

    assert done.returncode == 0
    assert all(f"./run {word}" in done.stdout for word in ("serve", "test", "manage"))
    assert "also require npm" in done.stdout


@pytest.mark.parametrize("script", ["run", ".ci/run"])
def test_the_scripts_pass_shellcheck(script: str) -> None:
    shellcheck = shutil.which("shellcheck")
    if shellcheck is None:
        pytest.skip("no shellcheck on this machine")

    done = subprocess.run([shellcheck, checkout.ROOT / script], stdout=subprocess.PIPE, check=False)

    assert done.stdout.decode() == ""
