"""What pages and documents promise: each sentence with the test that proves it.

A sentence that promises something and is not listed here fails, and so does one whose proof is
gone: write the proof with the sentence.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Words with which these pages promise something.
PROMISING = re.compile(
    r"(?i)\b(?:never|always|every|immediately|at once|destructive|nothing|no longer|only setting)\b"
)
TRANSLATED = re.compile(
    r"{%\s*translate\s+\"(?P<text>[^\"]*)\"|{%\s*blocktranslate[^%]*%}(?P<block>.*?){%\s*(?:plural|endblocktranslate)",
    re.DOTALL,
)
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


class Promise(NamedTuple):
    """A sentence of a page, and the test that fails if it is not so."""

    page: str
    sentence: str
    proof: str


HOME = "templates/console/home.html"
CONSENT = "templates/oauth/consent.html"
CONNECTION = "templates/console/connection.html"
DISCONNECT = "templates/console/connection_revoke.html"
SIGN_IN = "templates/account/login.html"
SECOND_STEP = "templates/mfa/authenticate.html"
PAGES = (HOME, CONSENT, CONNECTION, DISCONNECT, SIGN_IN, SECOND_STEP)
ENDS_AT_ONCE = (
    "tests/console/test_connections_changes.py"
    "::test_disconnecting_ends_every_token_from_the_next_call_on"
)
GATE = "tests/tools_registry/test_gate_layers.py"
K05 = f"{GATE}::test_k05_a_destructive_tool_is_never_listed_and_never_runs"
MARKS = "tests/console/test_destructive_marks.py"

PROMISES = (
    Promise(
        HOME,
        "You choose the permissions of each client, and every call is recorded.",
        "tests/audit/test_audit_rows.py::test_every_call_leaves_exactly_one_row_however_it_ends",
    ),
    Promise(
        HOME,
        "This is the only setting a client needs.",
        "tests/console/test_connect_snippets.py::test_every_client_is_shown_the_whole_address",
    ),
    Promise(
        HOME,
        "At this address, clients never run refunds, deletions or other destructive actions.",
        K05,
    ),
    Promise(
        HOME,
        "Each project of the gateway has its own address and policy.",
        "tests/gateway/test_project_consent.py::test_a_token_family_keeps_its_resource",
    ),
    Promise(
        CONSENT,
        "The project's policy applies to every call: it runs at once, waits for an approver, or is "
        "denied.",
        "tests/gateway/approvals/test_policies.py::test_the_first_rule_that_matches_decides_about_a_call",
    ),
    Promise(
        CONSENT,
        "This includes calls of tools marked as destructive.",
        f"{MARKS}::test_the_consent_page_marks_the_tools_that_delete",
    ),
    Promise(
        CONSENT,
        "Never allowed at this address: destructive actions such as refunds and deletions.",
        K05,
    ),
    Promise(
        CONSENT,
        "It requests every tool of the project.",
        "tests/gateway/test_project_consent.py"
        "::test_a_request_without_a_cleared_tool_grants_later_tools_too",
    ),
    Promise(
        CONNECTION,
        "The project's policy applies to every call, also of tools marked as destructive.",
        f"{MARKS}::test_the_connection_of_a_project_does_not_promise_that_nothing_is_destroyed",
    ),
    Promise(
        CONNECTION,
        "Destructive actions such as refunds and deletions are never allowed.",
        K05,
    ),
    Promise(
        DISCONNECT,
        "The client immediately loses access in all your organizations.",
        "tests/console/test_connections_changes.py"
        "::test_disconnecting_ends_every_token_from_the_next_call_on",
    ),
    Promise(DISCONNECT, "The client immediately loses access to {{ organization }}.", ENDS_AT_ONCE),
    Promise(
        DISCONNECT,
        "Every client immediately loses access, in all your organizations.",
        "tests/console/test_connections_changes.py"
        "::test_disconnecting_all_ends_mine_and_nobody_elses",
    ),
    Promise(
        SIGN_IN,
        "You were signed out before your form was sent, and nothing was saved.",
        "tests/console/test_kept_forms.py"
        "::test_the_sign_in_page_says_that_the_form_is_kept_and_leads_back_to_it",
    ),
    Promise(
        "README.md",
        "Destructive actions of integrations are never available over MCP; tools of the gateway "
        "that delete are marked, and run as the policy of their project says.",
        f"{MARKS}::test_the_page_of_a_project_marks_them",
    ),
    Promise(
        "docs/refusals.md",
        "Refunds, deletions and other irreversible changes of integrations are never available "
        "over MCP, whatever scopes a token has.",
        "tests/approvals/test_billing_gate.py::test_no_scope_whatever_opens_what_is_destructive",
    ),
    Promise(
        "docs/refusals.md",
        "Those that delete or undo something are marked as destructive on the consent page and in "
        "lists.",
        f"{MARKS}::test_the_list_in_the_admin_names_them",
    ),
    Promise(
        "docs/scopes.md",
        "The consent page marks those that delete or undo something as destructive, and the "
        "project's policy decides about each call.",
        f"{MARKS}::test_the_consent_page_marks_the_tools_that_delete",
    ),
)


def read_text(page: str) -> str:
    return " ".join((ROOT / page).read_text(encoding="utf-8").split())


def promising_sentences(page: str) -> Iterator[str]:
    """The sentences of a template that promise something."""
    source = (ROOT / page).read_text(encoding="utf-8")
    for found in TRANSLATED.finditer(source):
        text = " ".join((found["text"] or found["block"] or "").split())
        for sentence in SENTENCE_END.split(text):
            if sentence.endswith(".") and PROMISING.search(sentence):
                yield sentence


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.sentence[:60])
def test_a_promise_is_on_its_page(promise: Promise) -> None:
    assert promise.sentence in read_text(promise.page)


def test_every_proof_is_a_test_that_runs() -> None:
    proofs = sorted({promise.proof for promise in PROMISES})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n0", "-p", "no:randomly"]
    collected = subprocess.run(
        [*command, *proofs], cwd=ROOT, capture_output=True, text=True, check=False
    )
    found = {line.partition("[")[0] for line in collected.stdout.splitlines()}
    assert collected.returncode == 0, collected.stdout + collected.stderr
    assert {*proofs} <= found


@pytest.mark.parametrize("page", PAGES)
def test_a_sentence_that_promises_something_is_listed_with_its_proof(page: str) -> None:
    listed = {promise.sentence for promise in PROMISES if promise.page == page}
    assert [one for one in promising_sentences(page) if one not in listed] == []


def test_one_word_is_used_for_one_thing_on_pages() -> None:
    """Pages say organization and reject; `/w/{workspace}` and `declined` are names of APIs."""
    said = {
        (str(file.relative_to(ROOT)), found[0])
        for file in (ROOT / "templates").rglob("*.html")
        for one in TRANSLATED.finditer(file.read_text(encoding="utf-8"))
        for found in re.finditer(r"(?i)\b(?:workspaces?|declined?)\b", one["text"] or one["block"])
    }
    assert said == set()
