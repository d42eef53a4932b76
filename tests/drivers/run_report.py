"""A pytest plugin that prints what `.ci/run` collects from a run of tests, over all processes.

    python -m pytest -p tests.drivers.run_report ...

A line `failed:` for each failed test, with its id and the first line of its error, separated by
tabs. The seconds of each test, setup and teardown included, are appended to the file that
`HALO_TEST_DURATIONS` names, or the twenty slowest are printed. A test that takes longer than
MAX_SECONDS by itself fails, unless its family is not part of each landing (mark `daily`). Where
more processes want to run than there are processors, or a processor is slower than the one that
MAX_SECONDS was chosen on, it may take longer in proportion.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import process_time

import pytest

SHOWN = 20
MAX_ERROR = 300
MAX_SECONDS = 20
# What `_measure_processor` took where MAX_SECONDS was chosen.
REFERENCE_SECONDS = 0.02


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    if call.when == "call" and report.passed and item.get_closest_marker("daily") is None:
        limit = MAX_SECONDS * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        if call.duration > limit:
            limit *= max(1.0, _measure_processor() / REFERENCE_SECONDS)
        if call.duration > limit:
            report.outcome = "failed"
            report.longrepr = f"took {call.duration:.0f} s; a test may take {limit:.0f} s"
    return report


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if hasattr(config, "workerinput"):
        return  # a process of the run, whose tests are reported by the one that started it
    seconds: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[report.nodeid] += report.duration
    failed = terminalreporter.getreports("failed") + terminalreporter.getreports("error")
    for report in failed:
        terminalreporter.write_line(f"failed:\t{report.nodeid}\t{_error(report)}")
    lines = [f"{spent:.1f} {test}" for test, spent in seconds.most_common()]
    if file := os.environ.get("HALO_TEST_DURATIONS"):
        with Path(file).open("a") as durations:
            durations.write("".join(f"{line}\n" for line in lines))
    else:
        for line in lines[:SHOWN]:
            terminalreporter.write_line(f"slow: {line}")


def _measure_processor() -> float:
    """Returns the processor time of a fixed piece of work."""
    begun = process_time()
    sum(number * number % 7 for number in range(300_000))
    return process_time() - begun


def _error(report: pytest.TestReport | pytest.CollectReport) -> str:
    """The first line of what was raised; the last line of the traceback where that is unknown."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else report.longreprtext
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no message"]
    line = lines[0] if crash else lines[-1]
    return line.replace("\t", " ")[:MAX_ERROR]
