"""A pytest plugin that prints what `.ci/run` collects from a run of tests, over all processes.

    python -m pytest -p tests.drivers.run_report ...

A line `failed:` for each failed test, with its id and the first line of its error, separated by
tabs, and a line `slow:` for each of the files that took the longest. Seconds of setup, call and
teardown are added up, so two processes spend two seconds in one.
"""

from collections import Counter

import pytest

SHOWN = 60
MAX_ERROR = 300


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    seconds: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[report.nodeid.partition("::")[0]] += report.duration
    failed = terminalreporter.getreports("failed") + terminalreporter.getreports("error")
    for report in failed:
        terminalreporter.write_line(f"failed:\t{report.nodeid}\t{_error(report)}")
    for path, spent in seconds.most_common(SHOWN):
        terminalreporter.write_line(f"slow: {spent:.0f} s in {path}")


def _error(report: pytest.TestReport | pytest.CollectReport) -> str:
    """The first line of what was raised; the last line of the traceback where that is unknown."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else report.longreprtext
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no message"]
    line = lines[0] if crash else lines[-1]
    return line.replace("\t", " ")[:MAX_ERROR]
