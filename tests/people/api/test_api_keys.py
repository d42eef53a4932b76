"""API keys: who may make them, what they may do, and what a caller without one sees."""

import json
import re
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from audit.models import ActionExecution, SecurityEvent
from foundation import ids
from foundation.limits import Limit
from oauth.models import KeyKind, ServerKey
from people.api.operations import ALL
from people.mcp import writes
from people.models import Person
from tests.people.api.program import Program
from tests.people.conftest import Office
from workspace.models import Membership, Organization, Role, User

PAGE = "/api-keys"


@pytest.fixture
def admin(office: Office) -> Client:
    user = User.objects.create_user("admin@office.example", name="Admin")
    Membership.objects.create(user=user, organization=office.organization, role=Role.ADMIN)
    browser = Client()
    browser.force_login(user)
    return browser


def form_fields(office: Office, **changes: Any) -> dict[str, Any]:
    form = {"organization": office.organization.pk, "name": "Reporting", "days": "30"}
    return form | {"kind": "live", "scopes": ["people:read"]} | changes


def test_every_permission_that_is_offered_permits_an_operation(
    office: Office, admin: Client
) -> None:
    page = admin.get(PAGE).content.decode()
    offered = set(re.findall(r'name="scopes"\s+value="([^"]+)"', page))
    assert offered == {one.scope for one in ALL if one.scope} | {writes.SCOPE}
    ServerKey.objects.filter(pk=Program(office.organization, "people:read").row.pk).update(
        scope="people:read payroll_exports:read"
    )
    assert "Read people, their employment" in admin.get(PAGE).content.decode()


def with_secret(office: Office, secret: str) -> Program:
    return Program(office.organization, secret=secret)


def test_a_key_is_made_on_the_page_shown_once_and_revoked(office: Office, admin: Client) -> None:
    shown = admin.post(PAGE, form_fields(office))
    assert "no-store" in shown["Cache-Control"]
    row = ServerKey.objects.get()
    text = shown.content.decode()
    secret = text[text.index("hhr_live_") :][:52]
    assert f"/w/{office.organization.slug}/api/mcp" in text
    assert row.checksum == ids.sha256_hex(secret)
    assert (row.kind, row.scope, row.created_by) == ("live", "people:read", User.objects.get())
    program = with_secret(office, secret)
    assert program.get("people").status == 200
    row.refresh_from_db()
    assert row.last_used_at is not None
    listed = admin.get(PAGE).content.decode()
    assert secret not in listed
    assert secret[-4:] in listed
    assert "Reporting" in admin.get(f"{PAGE}/{row.pk}/revoke").content.decode()
    assert admin.post(f"{PAGE}/{row.pk}/revoke", follow=True).status_code == 200
    assert program.get("people").code == "401 authentication_required"
    kinds = set(SecurityEvent.objects.values_list("kind", flat=True))
    assert {"server_key_created", "server_key_revoked", "api_key_rejected"} <= kinds


def test_a_form_with_a_wrong_value_makes_no_key(office: Office, admin: Client) -> None:
    for changes in ({"scopes": []}, {"scopes": ["sdk:write"]}, {"kind": "sdk"}, {"name": ""}):
        assert admin.post(PAGE, form_fields(office, **changes)).status_code == 400
    assert not ServerKey.objects.exists()


def test_keys_of_another_organization_are_no_ones_to_see(
    office: Office, other_office: Office, admin: Client
) -> None:
    theirs = Program(other_office.organization).row
    assert theirs.ending not in admin.get(PAGE).content.decode()
    assert admin.post(f"{PAGE}/{theirs.pk}/revoke").status_code == 404
    assert admin.post(PAGE, form_fields(other_office)).status_code == 400
    # The keys of one API are not on the page of the other.
    assert (
        admin.post(f"/server-keys/{Program(office.organization).row.pk}/revoke").status_code == 404
    )


def test_a_member_has_no_page_of_keys(office: Office) -> None:
    user = User.objects.create_user("member@office.example")
    Membership.objects.create(user=user, organization=office.organization)
    browser = Client()
    browser.force_login(user)
    assert browser.get(PAGE).status_code == 404


def test_the_admin_offers_the_scopes_of_each_api(office: Office, admin: Client) -> None:
    address = "/admin/oauth/serverkey/add/"
    mixed = admin.post(address, form_fields(office, scopes=["sdk:write"]))
    assert "Not a permission of this API: sdk:write." in mixed.content.decode()
    shown = admin.post(address, form_fields(office, kind="test"))
    assert "hhr_test_" in shown.content.decode()


@pytest.mark.parametrize("operation", ALL, ids=lambda one: one.id)
def test_each_operation_needs_its_scope(office: Office, operation: Any) -> None:
    program = Program(office.organization, "mcp:write")
    path = operation.path.replace("{", "").replace("}", "")
    if not operation.scope:
        assert program.get(path).status == 200
        return
    reply = program.send(operation.method, path, {})
    assert reply.code == "403 permission_denied"
    assert operation.scope in reply.error["message"]
    row = ActionExecution.objects.get()
    assert (row.surface, row.tool, row.reason) == ("people", operation.id, "permission_denied")


def test_every_caller_without_a_valid_key_gets_the_same_answer(
    office: Office, other_office: Office
) -> None:
    expired, suspended = Program(office.organization), Program(office.organization)
    ServerKey.objects.filter(pk=expired.row.pk).update(expires_at=timezone.now())
    foreign = Program(other_office.organization)
    foreign.address = Program(office.organization).address
    programs = [expired, foreign]
    programs += [
        with_secret(office, secret)
        for secret in ("", "x", "hhr_live_", "hhr_live_" + "x" * 43, "halo_sk_" + "x" * 43, "ä")
    ]
    replies = [program.get("people") for program in programs]
    Organization.objects.filter(pk=office.organization.pk).update(suspended_at=timezone.now())
    replies.append(suspended.get("people"))
    for reply in replies:
        assert reply.code == "401 authentication_required"
        assert reply.response["WWW-Authenticate"] == 'Bearer realm="hr-api"'
        assert reply.error["message"] == replies[0].error["message"]
    assert not ActionExecution.objects.exists()


def test_a_key_of_the_sdk_api_is_none_of_this_one(office: Office) -> None:
    sdk = Program(office.organization, "sdk:write", kind=KeyKind.SDK)
    assert sdk.get("me").code == "401 authentication_required"


def test_me_says_what_the_key_may_do(office: Office) -> None:
    program = Program(office.organization, "people:read", "time_off:read")
    found = program.get("me").data
    assert found["organisation"] == {"id": str(office.organization.pk)}
    assert found["api_key"]["scopes"] == ["people:read", "time_off:read"]
    assert found["environment"] == {"type": "live", "sandbox": False}
    assert found["actor"] == {"type": "api_key", "key_id": str(program.row.pk)}


def test_a_test_key_sees_made_up_people_only(office: Office) -> None:
    live = office.person(first_name="Live")
    program = Program(office.organization, kind=KeyKind.TEST)
    assert program.secret.startswith("hhr_test_")
    assert program.get("me").data["environment"] == {"type": "sandbox", "sandbox": True}
    seen, cursor = [], None
    while True:
        page = program.get("people", limit=100, **({"cursor": cursor} if cursor else {}))
        seen += [one["id"] for one in page.data]
        cursor = page.body["pagination"]["next_cursor"]
        if cursor is None:
            break
    assert len(seen) == 120
    assert live.pk not in seen
    assert program.get(f"people/{live.pk}").code == "404 not_found"
    assert Program(office.organization).get(f"people/{seen[0]}").code == "404 not_found"
    body = {"person_id": live.pk, "category_id": office.leave.pk}
    body |= {"start_date": "2026-06-01", "end_date": "2026-06-01"}
    assert program.post("time-off", body).fields == ["person_id"]
    # The second key sees the same sandbox, and nobody else finds it.
    again = Program(office.organization, kind=KeyKind.TEST)
    assert again.get(f"people/{seen[0]}").status == 200
    assert Organization.with_sandboxes.count() == Organization.objects.count() + 1
    assert Person.objects.filter(organization=office.organization).count() == 1


def test_another_organizations_ids_look_like_unknown_ones(
    other_office: Office, program: Program
) -> None:
    person = other_office.person()
    row = other_office.leave_of(person, *[timezone.localdate().replace(month=6, day=1)] * 2)
    known = {"person_id": person.pk, "time_off_id": row.pk, "category_id": other_office.leave.pk}
    unknown = {"person_id": "2b7v0c9x4k1m", "time_off_id": "time_off_x", "category_id": "toc_x"}
    malformed = dict.fromkeys(known, "%00%FF'--")
    for operation in ALL:
        if "{" not in operation.path or not operation.is_read:
            continue
        answers = []
        for ids_ in (known, unknown, malformed):
            every = dict.fromkeys(("history_id", "org_unit_id", "document_id"), "x") | ids_
            every |= {"working_pattern_id": "x"}
            reply = program.get(operation.path.format(**every))
            assert reply.code == "404 not_found", operation.id
            # The id is named as it was sent.
            message = reply.error["message"].partition('"')[0]
            answers.append({**reply.error, "request_id": "", "message": message})
        assert answers[0] == answers[1] == answers[2]
    for path, name in (("time-off", "person_id"), ("people", "manager_id")):
        replies = [program.get(path, **{name: one["person_id"]}) for one in (known, unknown)]
        assert [(one.code, one.fields) for one in replies] == [("400 invalid_request", [name])] * 2
        messages = [one.error["message"].partition('"')[0] for one in replies]
        assert messages[0] == messages[1]


def test_each_call_has_an_audit_row_without_what_was_asked_for(
    office: Office, program: Program
) -> None:
    person = office.person(first_name="Zweite")
    reply = program.get("people", search="Zweite")
    row = ActionExecution.objects.get()
    assert (row.surface, row.method, row.tool) == ("people", "GET /api/v1/people", "listPeople")
    assert (row.actor_kind, row.token_id) == ("api_key", str(program.row.pk))
    assert row.organization_id == str(office.organization.pk)
    assert (row.outcome, row.row_count, row.client_name) == ("success", 1, "Program")
    assert row.request_id == reply.response["X-Request-ID"]
    assert "Zweite" not in str(row.__dict__)
    missing = program.get("people/2b7v0c9x4k1m")
    assert missing.error["request_id"] == missing.response["X-Request-ID"]
    row = ActionExecution.objects.latest("pk")
    assert (row.outcome, row.reason) == ("not_found", "not_found")
    assert person.pk not in str(row.arguments)


def test_a_key_has_a_rate_limit_that_each_answer_tells(
    office: Office, program: Program, settings: Any
) -> None:
    settings.HALO_RATE_HR_API = Limit.parse("2/h")
    first = program.get("me")
    assert first.response["RateLimit-Limit"] == "2"
    assert first.response["RateLimit-Remaining"] == "1"
    assert 0 < int(first.response["RateLimit-Reset"]) <= 3600
    assert program.get("me").response["RateLimit-Remaining"] == "0"
    over = program.get("me")
    assert over.code == "429 rate_limited"
    assert 0 < int(over.response["Retry-After"]) <= 3600
    assert over.response["RateLimit-Remaining"] == "0"
    assert Program(office.organization).get("me").status == 200


@pytest.mark.parametrize("limit", ["1/s", "1000000/s", "1000000/d"])
def test_the_smallest_and_the_largest_rate_count_requests(
    program: Program, settings: Any, limit: str
) -> None:
    settings.HALO_RATE_HR_API = Limit.parse(limit)
    reply = program.get("me")
    assert reply.status == 200
    assert int(reply.response["RateLimit-Remaining"]) == settings.HALO_RATE_HR_API.count - 1


def test_headers_that_cannot_be_made_do_not_fail_what_was_done(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foundation.limits.reading", lambda _bucket: 1 / 0)
    reply = program.get("me")
    assert reply.status == 200
    assert "RateLimit-Limit" not in reply.response


def run(*words: str) -> str:
    said = StringIO()
    call_command("people", "key", *words, stdout=said)
    return said.getvalue()


def test_the_command_makes_lists_and_revokes_keys(office: Office) -> None:
    slug = office.organization.slug
    made = json.loads(run("create", "--organization", slug, "--scopes", "people:read", "--json"))
    assert made["api_url"].endswith(f"/w/{slug}/api/v1")
    assert made["mcp_url"].endswith(f"/w/{slug}/api/mcp")
    program = with_secret(office, made["key"])
    ServerKey.objects.filter(pk=program.row.pk).delete()
    assert program.get("people").status == 200
    row = ServerKey.objects.get()
    assert f"{row.pk}  active   live  Command line (people:read)" in run(
        "list", "--organization", slug
    )
    said = run("create", "--organization", slug, "--scopes", "people:read time_off:read", "--test")
    assert "hhr_test_" in said
    assert run("revoke", str(row.pk)) == "Revoked.\n"
    assert run("revoke", str(row.pk)) == "This key was already revoked.\n"
    assert program.get("people").code == "401 authentication_required"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            ("create", "--organization", "nowhere", "--scopes", "people:read"),
            "no organization 'nowhere'",
        ),
        (("create", "--organization", "nowhere", "--scopes", "x"), "Unknown scopes: x. Use: org"),
        (("create", "--organization", "nowhere", "--scopes", " "), "Unknown scopes: none given"),
        (
            ("create", "--organization", "x", "--scopes", "people:read", "--days", "99999"),
            "from 0 to 3650",
        ),
        (("revoke", "x"), "no API key with this id"),
    ],
)
def test_the_command_explains_what_is_wrong(
    office: Office,  # noqa: ARG001  opens the database
    words: tuple[str, ...],
    problem: str,
) -> None:
    with pytest.raises(CommandError, match=problem):
        run(*words)
