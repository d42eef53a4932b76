"""The command: options, the examination, and exit codes.

| exit code | meaning |
|---|---|
| 0 | no check failed |
| 1 | a check failed; with `--strict`, or one was not shown |
| 2 | the server could not be examined, or the options are wrong |
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from aap_conformance import report
from aap_conformance.checks import CHECKS
from aap_conformance.observations import Observations, SuiteOptions
from aap_conformance.verdicts import CheckResult, CheckVerdict, NotShown, Violation
from aap_conformance.wire import ExaminedServer

PASSED: Final = 0
FAILED: Final = 1
NOT_EXAMINED: Final = 2
KEY_VARIABLE: Final = "AAP_KEY"


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    if given.list:
        for check in CHECKS:
            print(f"{check.number:>6} {check.page}: {check.sentence}")  # noqa: T201  a command
        return PASSED
    key = given.key or os.environ.get(KEY_VARIABLE, "")
    if not given.url or not key:
        print(f"--url and --key (or {KEY_VARIABLE}) are required.", file=sys.stderr)  # noqa: T201
        return NOT_EXAMINED
    with closing(ExaminedServer(given.url, key, given.timeout)) as server:
        observed = Observations(server, SuiteOptions(given.agent, given.tool, given.sessions))
        try:
            agent = str(observed.agent()["name"])
        except (Violation, NotShown, KeyError) as error:
            print(f"The server cannot be examined. {error}", file=sys.stderr)  # noqa: T201
            return NOT_EXAMINED
        results = [check.run(observed) for check in CHECKS]
        _clean_up(observed)
    _write(results, given.url, agent, given.json)
    return _code(results, is_strict=given.strict)


def _clean_up(observed: Observations) -> None:
    try:
        observed.clean_up()
    except Violation as error:
        print(f"The sessions of the examination are left behind. {error}", file=sys.stderr)  # noqa: T201


def _write(results: Sequence[CheckResult], url: str, agent: str, file: str) -> None:
    if file != "-":
        print(*report.as_lines(results), sep="\n")  # noqa: T201
    if file:
        text = json.dumps(report.as_json(url, agent, results), indent=2, ensure_ascii=False)
        if file == "-":
            print(text)  # noqa: T201
        else:
            Path(file).write_text(text + "\n", encoding="utf-8")


def _code(results: Sequence[CheckResult], *, is_strict: bool) -> int:
    wrong = {CheckVerdict.FAILED, CheckVerdict.NOT_SHOWN} if is_strict else {CheckVerdict.FAILED}
    return FAILED if any(one.verdict in wrong for one in results) else PASSED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="aap-conformance",
        description="Checks a server of the Agent Application Protocol, version 1, sentence by "
        "sentence. It creates sessions with the key, runs turns, and deletes the sessions.",
    )
    parser.add_argument("--url", help="the base URL of the server, such as https://example.com/aap")
    parser.add_argument("--key", help=f"an API key; better in {KEY_VARIABLE}")
    parser.add_argument("--agent", default="", help="the agent to use; else the first of /meta")
    parser.add_argument(
        "--tool", default="", help="its tool to call; else the first that needs one text"
    )
    parser.add_argument(
        "--sessions", type=int, default=0, help="create so many, so that the list has a second page"
    )
    parser.add_argument("--timeout", type=float, default=120, help="seconds for each request")
    parser.add_argument("--json", default="", metavar="FILE", help="write a report; - for stdout")
    parser.add_argument("--strict", action="store_true", help="fail if something was not shown")
    parser.add_argument("--list", action="store_true", help="list the checks and end")
    return parser
