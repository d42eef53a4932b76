"""Links and secrets in texts of HR records are redacted in any spelling, and other texts stay."""

import pytest

from people.mcp.projections import REDACTED, redact
from tests.people.api.program import Program
from tests.people.conftest import Office
from tests.people.mcp.endpoint import client

LINKS = [
    "https://home.example/CANARY",
    "HTTPS://EVIL.EXAMPLE/CANARY",
    "hxxps://evil.example/CANARY",
    "sftp://h/CANARY",
    "s3://bucket/CANARY",
    "file:///CANARY",
    "postgres://u:CANARY@h/db",
    "mailto:canary@evil.example?body=CANARY",
    "javascript:CANARY()",
    "data:text/html,CANARY",
    "www.evil.example/CANARY",
    "bit.ly/3CANARY",
    "t.co/CANARY",
    "example.com/path?token=CANARY",
    "example.com:8080/CANARY",
    "example.com?CANARY",
    "münchen.example/CANARY",
    "10.0.0.1/CANARY",
    "\\\\server\\CANARY",
    "https\u200b://evil.example/CANARY",
    "\uff48\uff54\uff54\uff50\uff53\uff1a//evil.example/CANARY",
]
SECRETS = [
    "hhr_live_CANARY1234567890",
    "HHR_LIVE_CANARY1234567890",
    "halo_at_CANARY1234567890",
    "Bearer CANARY1234567890",
    "bearer CANARY1234567890",
    "eyJhbGciOiJIUzI1NiJ9.CANARYx.CANARYy",
    "CANARY" + "aB3" * 12,
    "AKIACANARYEXAMPLE777",
    "AIzaSyCANARYCANARYCANARYCANARYCANARY123",
    "ghp_CANARYCANARY1234567890",
    "github_pat_CANARYCANARY1234567890",
    "glpat-CANARY1234567890",
    "npm_CANARYCANARY1234567890",
    "pypi-CANARYCANARY1234567890",
    "hf_CANARYCANARY1234567890",
    "sk_test_CANARY1234567890",
    "sk-CANARYCANARY1234567890",
    "sk-proj-CANARY-1234567890",
    "sk-ant-api03-CANARY1234567890",
    "whsec_CANARY1234567890",
    "xoxb-CANARY-1234567890",
    "ya29.CANARY1234567890",
    "SG.CANARYCANARY12.CANARYCANARY34",
    "dop_v1_CANARY1234567890",
    "hvs.CANARYCANARYCANARY1234567890",
    "shpat_CANARY1234567890",
    "-----BEGIN PRIVATE KEY-----CANARY",
    "-----BEGIN RSA PRIVATE KEY----- CANARY -----END RSA PRIVATE KEY-----",
    "password: CANARY",
    "Password=CANARY",
    "api_key: CANARY",
    "canary_secret = CANARY",
]
# The digests of the word, and made-up account numbers.
NUMBERS = [
    "2ba3ef0eb3e0d4d0b8b9dd0a4ab6f4f2",
    "9F86D081884C7D659A2FEAA0C55AD015A3BF4F1B2B0B822CD15D6C15B0F00A08",
    "DE89 3704 0044 0532 0130 00",
    "GB29NWBK60161331926819",
]
PLAIN = [
    "Software engineer",
    "Node.js/React developer",
    "ASP.NET/C# developer",
    "Team lead, R&D (HR/Finance)",
    "Token Management Lead",
    "Basic accounting",
    "Key-account-manager",
    "sk-learning-engineer",
    "Ada O\u2019Brien-Lovelace",
    "Özlem Çelik",
    "李小龙",
    "St.Gallen/Zürich",
    "FY26 plan with some team goals",
    "Q4 2026: 1.5 FTE",
    "ada.lovelace@office.example",
    "2026-06-01T09:00:00Z",
    "0199b1f0-0000-7000-8000-000000000000",
    "time_off_rb9jcrwMpurEYgM-t3n3BA",
]


def test_links_and_secrets_leave_in_no_spelling(office: Office, program: Program) -> None:
    texts = [*LINKS, *SECRETS, *NUMBERS]
    rows = {text: office.person(job_title=f"Engineer {text} and more") for text in texts}
    found = client(program).call("search_people", {"limit": 100})
    titles = {one["id"]: one["job_title"] for one in found.facts["data"]}
    shown = {text: titles[person.pk] for text, person in rows.items()}
    assert {text: title for text, title in shown.items() if "CANARY" in title} == {}
    assert all(REDACTED in title for title in shown.values()), shown
    for text in NUMBERS:
        assert shown[text] == f"Engineer {REDACTED} and more"
    # Nothing else of a text is lost, but behind the beginning of a private key.
    kept = [title for text, title in shown.items() if "BEGIN" not in text and "bearer" not in text]
    assert [title for title in kept if not title.startswith(("Engineer", REDACTED))] == []


@pytest.mark.parametrize("text", PLAIN)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert redact(text) == text


def test_invisible_characters_are_removed(office: Office, program: Program) -> None:
    person = office.person(first_name="Nora\u202e(\u2066x\u2069)\u200b", last_name="O\u00adBrien")
    found = client(program).call("get_person", {"person_id": person.pk}).facts["data"]
    assert (found["first_name"], found["last_name"]) == ("Nora(x)", "OBrien")
    assert found["display_name"] == "Nora(x) OBrien"


def test_long_texts_are_redacted_at_once() -> None:
    for piece in ("a.", "password", "aB3", "www", "DE89 ", "-----BEGIN PRIVATE KEY-----", "x://"):
        assert redact(piece * 20_000) is not None
