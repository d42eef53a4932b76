"""A pytest plugin that prints the ten test files that took the longest, over all processes.

    python -m pytest -p tests.drivers.slowest_files ...

Seconds of setup, call and teardown are added up, so two processes spend two seconds in one.
"""

from collections import Counter

import pytest

SHOWN = 10


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    seconds: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[report.nodeid.partition("::")[0]] += report.duration
    for path, spent in seconds.most_common(SHOWN):
        terminalreporter.write_line(f"slow: {spent:.0f} s in {path}")
