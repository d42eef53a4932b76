"""A pytest plugin for runs that are a proof: what could not run did not pass.

    python -m pytest -p tests.drivers.no_skips ...

In a plain run the same tests are skipped with their reason where a program of theirs is absent.
"""

from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"not run, and this run has to run everything: {reason}"
    return report
