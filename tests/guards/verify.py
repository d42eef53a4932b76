"""`./run verify guards`: takes each guard away in turn and names a test that fails without it.

    python -m tests.guards.verify [WORD...]    those whose names contain one of the words

A guard inside of a function is taken away while the tests are loaded (`in_turn`); of any other, the
module is compiled without it (`removal`), in a process for each. The exit code is 1 if a guard was
taken away and no test failed.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.guards import catalogue, in_turn, removal
from tests.guards.catalogue import Guard

FAILED = re.compile(r"^FAILED (\S+)", re.MULTILINE)
# A file that cannot be collected, or a fixture that fails: neither has looked at the guard.
ERROR = re.compile(r"^ERROR (\S+)", re.MULTILINE)
PYTEST = (sys.executable, "-m", "pytest", "-q", "-m", "not slow")
PLAIN = ("-p", "no:randomly", "-p", "no:cacheprovider")
# pytest: no test failed; some did.
PASSED, SOME_FAILED = 0, 1


def find_one_by_one(guards: Mapping[str, Guard]) -> Iterator[tuple[str, str]]:
    """Yields the guards, each with a test that fails without it, or an empty text."""
    for name, guard in guards.items():
        found = ""
        for tests in guard.tests:
            command = (*PYTEST, *PLAIN, tests, "-p", "tests.guards.removal", "-n", "0", "-x")
            environment = {**os.environ, removal.SETTING: name}
            run = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False
            )
            if found := next(iter(FAILED.findall(run.stdout)), ""):
                break
            if run.returncode not in {PASSED, SOME_FAILED} or ERROR.search(run.stdout):
                raise SystemExit(
                    f"{name}: pytest ended with {run.returncode}\n{run.stdout[-2000:]}"
                )
        yield name, found


def find_together(guards: Mapping[str, Guard]) -> Iterator[tuple[str, str]]:
    """Yields the same for guards inside of functions."""
    tests = sorted({path for guard in guards.values() for path in guard.tests})
    folders = [path for path in tests if not any(path.startswith(f"{one}/") for one in tests)]
    processes = int(os.environ.get("HALO_TEST_PROCESSES") or os.cpu_count() or 1)
    with TemporaryDirectory() as folder:
        file = Path(folder, "guards")
        file.write_text("\n".join(guards), encoding="utf-8")
        environment = {**os.environ, in_turn.GUARDS: str(file)}
        command = (*PYTEST, *PLAIN, *folders, "-p", "tests.guards.in_turn", "-n", "0")
        runs = [
            subprocess.Popen(command, env={**environment, in_turn.SHARE: f"{number}/{processes}"})
            for number in range(processes)
        ]
        if codes := {run.wait() for run in runs} - {PASSED}:
            raise SystemExit(f"pytest ended with {codes}")
        noticed = in_turn.read(file, in_turn.NOTICED)
        for test in in_turn.read(file, in_turn.FAILING):
            sys.stdout.write(f"fails with all guards: {test}\n")
    for name in guards:
        yield name, noticed.get(name, "")


def main(words: Sequence[str]) -> int:
    chosen = {
        name: guard
        for name, guard in catalogue.guards().items()
        if not words or any(word in name for word in words)
    }
    together = {name: guard for name, guard in chosen.items() if in_turn.find_place(guard)}
    others = {name: guard for name, guard in chosen.items() if name not in together}
    unnoticed = []
    for guards, find in ((others, find_one_by_one), (together, find_together)):
        for name, test in find(guards) if guards else ():
            sys.stdout.write(f"{name}: {test or 'NO TEST FAILS'}\n")
            sys.stdout.flush()
            if not test:
                unnoticed.append(name)
    sys.stdout.write(f"{len(chosen)} guards, {len(unnoticed)} that no test notices\n")
    return 1 if unnoticed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
