"""`./run verify guards`: takes each guard away in turn and names the tests that fail without it.

    python -m tests.guards.verify [WORD...]    those whose names contain one of the words

The exit code is 1 if a guard was taken away and no test failed.
"""

import os
import re
import subprocess
import sys
from collections.abc import Sequence

from tests.guards import catalogue, removal
from tests.guards.catalogue import Guard

SHOWN = 3
FAILED = re.compile(r"^FAILED (\S+)", re.MULTILINE)
# A file that cannot be collected, or a fixture that fails: neither has looked at the guard.
ERROR = re.compile(r"^ERROR (\S+)", re.MULTILINE)
# pytest: no test failed; some did.
PASSED, SOME_FAILED = 0, 1


def failing_tests(name: str, guard: Guard) -> list[str]:
    """Returns tests that fail without a guard, none if all pass."""
    for tests in guard.tests:
        command = (
            *(sys.executable, "-m", "pytest", tests, "-q", "-p", "tests.guards.removal"),
            *("-p", "no:randomly", "-p", "no:cacheprovider", "-m", "not slow"),
            *("-n", os.environ.get("HALO_TEST_PROCESSES", "auto"), f"--maxfail={SHOWN}"),
        )
        environment = {**os.environ, removal.SETTING: name}
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if found := sorted(set(FAILED.findall(run.stdout)))[:SHOWN]:
            return found
        if run.returncode not in {PASSED, SOME_FAILED} or ERROR.search(run.stdout):
            raise SystemExit(f"{name}: pytest ended with {run.returncode}\n{run.stdout[-2000:]}")
    return []


def main(words: Sequence[str]) -> int:
    chosen = {
        name: guard
        for name, guard in catalogue.guards().items()
        if not words or any(word in name for word in words)
    }
    unnoticed = []
    for name, guard in chosen.items():
        found = failing_tests(name, guard)
        sys.stdout.write(f"{name}: {', '.join(found) or 'NO TEST FAILS'}\n")
        sys.stdout.flush()
        if not found:
            unnoticed.append(name)
    sys.stdout.write(f"{len(chosen)} guards, {len(unnoticed)} that no test notices\n")
    return 1 if unnoticed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
