"""Calls of a project that wait for a decision, as tasks of MCP, at the project's real address."""

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any
from unittest.mock import create_autospec
from uuid import uuid4

import pytest
import time_machine
from django.db import connection
from django.utils import timezone

from approvals import requests
from approvals.call_tasks import ApprovalTasks
from approvals.models import ApprovalRequest
from approvals.tasks import settle
from audit.models import ActionExecution
from foundation import ids
from gateway import policies, quota
from gateway.models import PolicyRule, Project
from mcp_protocol.revisions import HANDSHAKE, MODERN, Revision
from oauth import mcp_tokens
from tests.drivers import grants, in_process_server, project_rows
from tests.drivers.app_client import SHOWS_APPS
from tests.drivers.billing import browser_of
from tests.drivers.elicitation_client import start_session
from tests.drivers.fake_vendors.site import Site, saying, serving
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient, Reply
from tests.drivers.shared_connection import wait_for_jobs
from tests.gateway.approvals.test_approval_races import run_at_once
from tests.tools_registry.test_asgi_process import wait_until
from workspace.models import Membership, Role, User

EXTENSION = "io.modelcontextprotocol/tasks"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
DECLARED: dict[str, Any] = {"_meta": {CAPABILITIES: {"extensions": {EXTENSION: {}}}}}
NEW, OLD = Revision.V2026_07_28, Revision.V2025_11_25
WAITS, RUNS = "delete_user", "list_users"
UNKNOWN = -32602


@dataclass(frozen=True)
class Directory:
    """A project, a member's client at it, and the browser of its owner."""

    grant: Grant
    row: Project
    owner: User
    site: Site
    path: str

    def client(self, user: User | None = None, revision: Revision = NEW) -> McpClient:
        token = mcp_tokens.issue(
            user or self.grant.user, self.row.organization, self.path,
            name="Laptop", days=0, address="",
        ).secret  # fmt: skip
        return project_rows.client(self.path, token).with_revision(revision)

    def decide(self, task_id: str, word: str = "approve", **form: str) -> int:
        status = browser_of(self.owner).post(f"/requests/{task_id}/{word}", form).status_code
        wait_for_jobs()
        return status

    def rule(self, effect: str, pattern: str = WAITS, conditions: Any = ()) -> None:
        PolicyRule.objects.create(
            project=self.row, position=PolicyRule.objects.count(), pattern=pattern,
            effect=effect, conditions=list(conditions),
        )  # fmt: skip
        self.row.save()  # as the policy page does, so that lists change


@pytest.fixture
def directory(grant: Grant) -> Any:
    owner = User.objects.create_user("owner@example.com")
    Membership.objects.create(user=owner, organization=grant.organization, role=Role.ADMIN)
    with serving(Site(usual=saying({"deleted": True}))) as site:
        row = project_rows.project(grant.organization, owner, target_url=site.url)
        yield Directory(grant, row, owner, site, f"/{row.pk}")


def call(mcp: McpClient, name: str = WAITS, **params: Any) -> Reply:
    arguments = {"id": "ada"} if name == WAITS else {}
    extra = DECLARED if mcp.revision in MODERN else {"task": {}}
    return mcp.request("tools/call", {"name": name, "arguments": arguments, **extra, **params})


def ask(mcp: McpClient, method: str, task_id: Any, **params: Any) -> Reply:
    extra = DECLARED if mcp.revision in MODERN else {}
    return mcp.request(f"tasks/{method}", {"taskId": task_id, **extra, **params})


def task_of(mcp: McpClient) -> str:
    result = call(mcp).result
    return str((result if mcp.revision in MODERN else result["task"])["taskId"])


def state(mcp: McpClient, task_id: str) -> str:
    return str(ask(mcp, "get", task_id).result["status"])


def test_a_call_that_waits_becomes_a_task_and_its_result_is_read_once_it_was_approved(
    directory: Directory, settings: Any
) -> None:
    mcp = directory.client()
    task = call(mcp).result
    row = ApprovalRequest.objects.get()
    lifetime = row.expires_at - row.created_at
    assert (task["resultType"], task["status"], task["taskId"]) == ("task", "working", str(row.pk))
    assert task["ttlMs"] == round(lifetime.total_seconds() * 1_000)
    assert task["pollIntervalMs"] == 15_000
    assert f"{settings.HALO_PUBLIC_URL}/requests/{row.pk}" in task["statusMessage"]
    assert "owner@example.com" in task["statusMessage"]
    assert "Repeat this call" not in task["statusMessage"]

    waiting = ask(mcp, "get", task["taskId"]).result
    members = ("taskId", "status", "createdAt", "ttlMs", "pollIntervalMs", "statusMessage")
    assert {name: waiting[name] for name in members} == {name: task[name] for name in members}
    assert directory.site.seen == []

    assert directory.decide(task["taskId"]) == 302
    ended = ask(mcp, "get", task["taskId"]).result
    assert ended["status"] == "completed"
    assert ended["result"]["isError"] is False
    assert "deleted" in ended["result"]["content"][0]["text"]
    assert "repeated" not in ended["result"]["_meta"]
    names = {one["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] for one in
             (ended, ended["result"])}  # fmt: skip
    assert names == {"airlock"}
    assert len(directory.site.seen) == 1
    read = ActionExecution.objects.filter(method="tasks/get").get()
    assert (read.tool, read.outcome) == (WAITS, "success")
    assert read.detail == f"task of approval request {row.pk}"


def test_a_client_that_shows_apps_gets_the_card_of_the_request_with_its_task(
    directory: Directory,
) -> None:
    mcp = directory.client()
    plain = call(mcp).result
    both = {"extensions": {EXTENSION: {}, **SHOWS_APPS["extensions"]}}
    shown = call(mcp, _meta={CAPABILITIES: both}).result
    card = shown["_meta"].pop("approval")
    assert (card["status"], card["summary"]) == ("pending", WAITS)
    assert card["url"].endswith(f"/requests/{shown['taskId']}")
    assert shown == plain

    old = start_session(mcp, OLD, SHOWS_APPS)
    task = call(old).result
    assert task["task"]["taskId"] == shown["taskId"]
    assert task["_meta"]["approval"] == card
    assert task["_meta"]["io.modelcontextprotocol/model-immediate-response"]


def test_a_client_that_declares_nothing_gets_what_it_got_before(directory: Directory) -> None:
    plain = directory.client()
    pending = plain.call(WAITS, {"id": "ada"})
    assert pending.facts["status"] == "PENDING_APPROVAL"
    assert pending.result["resultType"] == "complete"
    assert pending.facts["message"].endswith("to get the decision and the result.")
    others: list[Any] = [{}, {"extensions": {}}, {"extensions": {EXTENSION: True}}, {"tasks": {}}]
    for declared in others:
        meta = {CAPABILITIES: declared}
        params = {"name": WAITS, "arguments": {"id": "ada"}, "_meta": meta, "task": {"ttl": 60_000}}
        again = plain.request("tools/call", params)
        assert again.body == pending.body
    for revision in HANDSHAKE:
        assert plain.with_revision(revision).call(WAITS, {"id": "ada"}).facts == pending.facts


def test_a_call_that_needs_no_approval_is_answered_at_once(directory: Directory) -> None:
    result = call(directory.client(), RUNS).result
    assert result["resultType"] == "complete"
    assert ApprovalRequest.objects.count() == 0
    # An outcome of a quarter of an hour before is one, too.
    mcp = directory.client()
    task_id = task_of(mcp)
    directory.decide(task_id)
    assert call(mcp).result["_meta"]["repeated"] is True


def test_the_methods_need_the_declaration_of_each_request(directory: Directory) -> None:
    mcp = directory.client()
    task_id = task_of(mcp)
    for method in ("get", "update", "cancel"):
        params = {"taskId": task_id, "inputResponses": {}}
        refused = mcp.request(f"tasks/{method}", params)
        assert (refused.status, refused.code) == (400, -32021)
        assert refused.error["data"]["requiredCapabilities"] == {"extensions": {EXTENSION: {}}}
    listening = mcp.asking_for_events()
    filtered = {"notifications": {"taskIds": [task_id]}}
    assert listening.request("subscriptions/listen", filtered).code == -32021
    assert state(mcp, task_id) == "working"
    for method in ("result", "list"):
        gone = ask(mcp, method, task_id)
        assert (gone.status, gone.code) == (404, -32601)


def test_the_name_header_of_a_task_may_be_absent_and_may_not_differ(directory: Directory) -> None:
    mcp = directory.client()
    task_id = task_of(mcp)
    params = {"taskId": task_id, **DECLARED}
    assert mcp.request("tasks/get", params, headers={"Mcp-Name": None}).status == 200
    refused = mcp.request("tasks/get", params, headers={"Mcp-Name": str(uuid4())})
    assert (refused.status, refused.code) == (400, -32020)


@pytest.mark.parametrize("revision", [OLD, NEW])
def test_nobody_else_has_the_task(directory: Directory, revision: Revision) -> None:
    task_id = task_of(directory.client(revision=revision))
    elsewhere = grants.make_grant()
    other = project_rows.project(elsewhere.organization, elsewhere.user)
    foreign = Directory(elsewhere, other, elsewhere.user, directory.site, f"/{other.pk}")
    sibling = project_rows.project(directory.grant.organization, directory.owner, name="Sibling")
    neighbour = Directory(
        directory.grant, sibling, directory.owner, directory.site, f"/{sibling.pk}"
    )
    strangers = {
        "another member": directory.client(directory.owner, revision),
        "another token of the same person": directory.client(revision=revision),
        "another organization": foreign.client(revision=revision),
        "another project": neighbour.client(revision=revision),
    }
    for who, mcp in strangers.items():
        for method in ("get", "cancel", "update" if revision is NEW else "result"):
            answer = ask(mcp, method, task_id, inputResponses={})
            unknown = ask(mcp, method, str(uuid4()), inputResponses={})
            assert answer.code == UNKNOWN, who
            assert answer.error == unknown.error, who
        if revision is OLD:
            assert mcp.request("tasks/list").result["tasks"] == []
    assert ApprovalRequest.objects.get().status == "pending"


@pytest.mark.parametrize("task_id", ["", "x", "%00", 7, None, {}, "0" * 5_000, "\u202e"])
def test_an_id_that_is_none_is_refused(directory: Directory, task_id: Any) -> None:
    mcp = directory.client()
    for method in ("get", "cancel", "update"):
        params = {"taskId": task_id, "inputResponses": {}, **DECLARED}
        refused = mcp.request(f"tasks/{method}", params, headers={"Mcp-Name": None})
        assert (refused.status, refused.code) == (200, UNKNOWN)
        assert refused.error["data"]["field"] == "taskId"


def test_a_rejected_and_an_expired_call_end_with_the_reason(directory: Directory) -> None:
    mcp = directory.client()
    task_id = task_of(mcp)
    directory.decide(task_id, "reject", note="Not on a Friday.")
    ended = ask(mcp, "get", task_id).result
    assert (ended["status"], ended["result"]["isError"]) == ("completed", True)
    assert "Not on a Friday." in ended["result"]["content"][0]["text"]
    assert ended["statusMessage"] == "Not on a Friday."

    late = ApprovalRequest.objects.filter(pk=task_id)
    past = timezone.now() - timedelta(seconds=1)
    late.update(status="pending", ended_at=None, expires_at=past, note="")
    for _ in range(2):  # before and after the schedule has marked it
        ended = ask(mcp, "get", task_id).result
        assert (ended["status"], ended["result"]["isError"]) == ("completed", True)
        assert "in time" in ended["result"]["content"][0]["text"]
        assert ask(mcp, "cancel", task_id).status == 200
        settle()
    assert late.get().status == "expired"
    assert directory.site.seen == []


def test_a_task_is_forgotten_a_day_after_its_call_has_ended(directory: Directory) -> None:
    mcp = directory.client(revision=OLD)
    task_id = task_of(mcp)
    directory.decide(task_id)
    row = ApprovalRequest.objects.get()
    assert row.ended_at is not None
    kept = row.ended_at + timedelta(days=1) - row.created_at
    (listed,) = mcp.request("tasks/list").result["tasks"]
    assert listed["ttl"] == round(kept.total_seconds() * 1_000)
    ApprovalRequest.objects.update(ended_at=timezone.now() - timedelta(days=1, seconds=1))
    for method in ("get", "result", "cancel"):
        assert ask(mcp, method, task_id).code == UNKNOWN
    assert mcp.request("tasks/list").result["tasks"] == []


def test_cancelling_withdraws_the_request_and_a_second_time_changes_nothing(
    directory: Directory,
) -> None:
    mcp = directory.client()
    task_id = task_of(mcp)
    for _ in range(2):
        assert ask(mcp, "cancel", task_id).result["resultType"] == "complete"
    row = ApprovalRequest.objects.get()
    assert (row.status, row.note, row.decided_by) == ("declined", requests.WITHDRAWN, None)
    ended = ask(mcp, "get", task_id).result
    assert (ended["status"], "result" in ended) == ("cancelled", False)
    (cancelled,) = ActionExecution.objects.filter(method="tasks/cancel")
    assert (cancelled.tool, cancelled.outcome) == (WAITS, "success")
    assert directory.decide(task_id) == 302  # back to the page, which says that it is over
    assert state(mcp, task_id) == "cancelled"
    # The same call again is meant.
    assert task_of(mcp) != task_id
    assert directory.site.seen == []


def test_an_executed_call_stays_executed_when_it_is_cancelled(directory: Directory) -> None:
    mcp = directory.client()
    task_id = task_of(mcp)
    directory.decide(task_id)
    assert ask(mcp, "cancel", task_id).status == 200
    assert state(mcp, task_id) == "completed"
    assert not ActionExecution.objects.filter(method="tasks/cancel").exists()


def test_answers_to_nothing_are_ignored_and_wrong_ones_refused(directory: Directory) -> None:
    mcp = directory.client()
    task_id = task_of(mcp)
    accepted = {"action": "accept", "content": {"approve": True}}
    ignored: list[Any] = [{}, {"approve": accepted}, {"": 7}]
    wrong: list[Any] = [[], "yes", 7, True]
    for answers in ignored:
        assert ask(mcp, "update", task_id, inputResponses=answers).status == 200
    for answers in wrong:
        refused = ask(mcp, "update", task_id, inputResponses=answers)
        assert (refused.code, refused.error["data"]["field"]) == (UNKNOWN, "inputResponses")
    absent = ask(mcp, "update", task_id)
    assert (absent.code, absent.error["data"]["field"]) == (UNKNOWN, "inputResponses")
    assert state(mcp, task_id) == "working"
    assert ApprovalRequest.objects.get().status == "pending"


def test_an_ended_token_reads_no_task(directory: Directory) -> None:
    mcp = directory.client()
    task_id = task_of(mcp)
    mcp_tokens.revoke(
        mcp_tokens.list_project_tokens(directory.grant.user).get(),
        user=directory.grant.user,
        address="",
    )
    assert ask(mcp, "get", task_id).status == 401


def test_only_projects_announce_tasks_and_have_their_methods(directory: Directory) -> None:
    mcp = directory.client()
    extensions = mcp.request("server/discover").result["capabilities"]["extensions"]
    assert extensions == {EXTENSION: {}}
    params = {"capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    for revision in HANDSHAKE:
        shaken = mcp.with_revision(revision).request(
            "initialize", {"protocolVersion": revision.value, **params}
        )
        announced = shaken.result["capabilities"]
        assert "extensions" not in announced
        wanted: Any = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
        assert announced.get("tasks") == (wanted if revision is OLD else None)
        if revision is not OLD:
            assert ask(mcp.with_revision(revision), "get", "x").code == -32601

    workspace = McpClient(directory.grant.token())
    for revision in Revision:
        for method in ("get", "update", "cancel", "list", "result"):
            named = {"taskId": str(uuid4()), "inputResponses": {}}
            extra = DECLARED if revision in MODERN else {}
            gone = workspace.with_revision(revision).request(f"tasks/{method}", {**named, **extra})
            assert gone.code == -32601
    discovered = workspace.with_revision(NEW).request("server/discover").result["capabilities"]
    assert EXTENSION not in discovered.get("extensions", {})


def test_the_alias_of_a_project_has_its_tasks(directory: Directory) -> None:
    mcp = directory.client()
    task_id = task_of(mcp)
    alias = mcp.with_transport(project_rows.path_transport(f"/api/mcp{directory.path}"))
    assert state(alias, task_id) == "working"


# 2025-11-25


def test_lists_say_which_tools_take_tasks(directory: Directory) -> None:
    def list_executions(revision: Revision = OLD) -> Mapping[str, Any]:
        tools = directory.client(revision=revision).request("tools/list").result["tools"]
        return {tool["name"]: tool.get("execution") for tool in tools}

    assert list_executions() == {WAITS: {"taskSupport": "optional"}, RUNS: None}
    assert (
        list_executions(NEW) == list_executions(Revision.V2025_06_18) == {WAITS: None, RUNS: None}
    )
    condition = {"pointer": "/id", "operator": "==", "value": "ada"}
    directory.rule("deny", conditions=[condition])
    assert list_executions()[WAITS] == {"taskSupport": "optional"}
    directory.rule("allow", conditions=[{**condition, "value": "bob"}])
    assert list_executions()[WAITS] is None
    directory.rule("require_approval", RUNS)
    assert list_executions() == {WAITS: None, RUNS: {"taskSupport": "optional"}}


def test_at_2025_11_25_a_client_asks_for_the_task_and_reads_its_result_apart(
    directory: Directory,
) -> None:
    mcp = directory.client(revision=OLD)
    created = call(mcp, task={"ttl": 1}).result
    task = created["task"]
    row = ApprovalRequest.objects.get()
    assert (task["taskId"], task["status"], "content" in created) == (
        str(row.pk), "working", False,
    )  # fmt: skip
    assert task["ttl"] == round((row.expires_at - row.created_at).total_seconds() * 1_000)
    immediate = created["_meta"]["io.modelcontextprotocol/model-immediate-response"]
    assert immediate == task["statusMessage"]
    assert call(mcp).result == created
    assert [one["taskId"] for one in mcp.request("tasks/list").result["tasks"]] == [str(row.pk)]
    blocked = ask(mcp, "result", task["taskId"])  # without a stream to wait on
    assert (blocked.status, blocked.code) == (406, -32600)

    directory.decide(task["taskId"])
    assert "result" not in ask(mcp, "get", task["taskId"]).result
    result = ask(mcp, "result", task["taskId"]).result
    assert "deleted" in result["content"][0]["text"]
    related = result["_meta"]["io.modelcontextprotocol/related-task"]
    assert related == {"taskId": task["taskId"]}
    assert ActionExecution.objects.filter(method="tasks/result", outcome="success").count() == 1
    # The same call is the same task, which has ended.
    assert call(mcp).result["task"]["status"] == "completed"
    assert len(directory.site.seen) == 1


def test_at_2025_11_25_a_call_without_approval_is_no_task_and_is_not_run(
    directory: Directory,
) -> None:
    mcp = directory.client(revision=OLD)
    refused = call(mcp, RUNS)
    assert (refused.code, "without `task`" in refused.error["message"]) == (-32601, True)
    assert directory.site.seen == []
    given: list[Any] = [[], "yes", 5]
    for wrong in given:
        assert call(mcp, task=wrong).error["data"]["field"] == "task"
    assert ApprovalRequest.objects.count() == 0
    assert quota.usage(directory.grant.organization.pk).used == 0
    assert mcp.call(WAITS, {"id": "ada"}).facts["status"] == "PENDING_APPROVAL"
    assert quota.usage(directory.grant.organization.pk).used == 1


def test_at_2025_11_25_a_call_that_asks_for_a_task_never_gets_a_result(
    directory: Directory,
) -> None:
    mcp = directory.client(revision=OLD)
    wrong = call(mcp, arguments={"id": 5, "more": 1})
    assert wrong.code == UNKNOWN
    assert mcp.call(WAITS, {}).result["isError"] is True

    def call_with_key(**extra: Any) -> Reply:
        meta = {"_meta": {"idempotency_key": "one"}}
        params = {"name": WAITS, "arguments": {"id": "ada"}, **meta, **extra}
        return mcp.request("tools/call", params)

    task_id = call_with_key(task={}).result["task"]["taskId"]
    directory.decide(task_id)
    assert call_with_key().result["_meta"]["repeated"] is True  # kept for the key from here on
    assert call_with_key(task={}).code == -32601
    assert len(directory.site.seen) == 1


def test_at_2025_11_25_cancelling_again_or_too_late_is_an_error(directory: Directory) -> None:
    mcp = directory.client(revision=OLD)
    first = task_of(mcp)
    assert ask(mcp, "cancel", first).result["status"] == "cancelled"
    again = ask(mcp, "cancel", first)
    assert (again.code, again.error["data"]["reason"]) == (UNKNOWN, "has ended")
    assert ask(mcp, "result", first).code == -32603
    (read,) = ActionExecution.objects.filter(method="tasks/result")
    assert (read.outcome, read.reason) == ("protocol_error", "rpc_32603")
    second = task_of(mcp)
    ApprovalRequest.objects.filter(pk=second).update(status="running", claimed_at=timezone.now())
    running = ask(mcp, "cancel", second)
    assert (running.code, running.error["data"]["reason"]) == (UNKNOWN, "is being executed")
    polled = ask(mcp, "get", second).result
    assert (polled["status"], polled["pollInterval"]) == ("working", 2_000)


def test_at_2025_11_25_a_result_that_is_not_there_is_waited_for(
    directory: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools_registry.endpoint.streams.task_results.LOOK_SECONDS", 0.05)
    mcp = directory.client(revision=OLD).asking_for_events()
    task_id = task_of(mcp)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ask, mcp, "result", task_id)
        directory.decide(task_id)
        (answer,) = waiting.result(30).events
    assert "deleted" in answer["result"]["content"][0]["text"]


@contextmanager
def waiting_for_result(mcp: McpClient, task_id: str) -> Iterator[Future[Reply]]:
    """A client that waits for the result of a task on an open stream."""
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ask, mcp.asking_for_events(), "result", task_id)
        # Later than it is counted: what ends the streams finds it then.
        wait_until(lambda: in_process_server.get_server().has_open_stream)
        yield waiting


@pytest.fixture
def short_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools_registry.endpoint.streams.task_results.LOOK_SECONDS", 0.05)


@pytest.mark.usefixtures("short_looks")
def test_a_result_is_not_delivered_once_the_server_was_turned_off(directory: Directory) -> None:
    mcp = directory.client(revision=OLD)
    task_id = task_of(mcp)
    with waiting_for_result(mcp, task_id) as waiting:
        directory.grant.switch_off("mcp_server")
        ApprovalRequest.objects.update(
            status="done", result={"deleted": True}, ended_at=timezone.now()
        )
        (answer,) = waiting.result(30).events
    assert answer["error"]["data"] == {"reason": "feature_disabled", "layer": "flag"}
    (refused,) = ActionExecution.objects.filter(method="tasks/result")
    assert (refused.outcome, refused.reason, refused.layer) == (
        "refused",
        "feature_disabled",
        "flag",
    )


@pytest.mark.usefixtures("short_looks")
def test_a_task_outlives_the_server_that_its_client_waits_at(directory: Directory) -> None:
    mcp = directory.client(revision=OLD)
    task_id = task_of(mcp)
    with waiting_for_result(mcp, task_id) as waiting:
        in_process_server.get_server().end_streams()
        (answer,) = waiting.result(30).events
    assert "not undone" not in answer["error"]["message"]
    assert answer["error"]["data"]["reason"] == "temporarily_unavailable"
    assert state(mcp, task_id) == "working"
    directory.decide(task_id)
    assert "deleted" in ask(mcp, "result", task_id).result["content"][0]["text"]


@pytest.mark.usefixtures("short_looks")
@pytest.mark.parametrize("cause", ["the task is unknown", "the token has ended"])
def test_a_refusal_on_the_stream_of_a_result_has_an_audit_row(
    directory: Directory, cause: str
) -> None:
    mcp = directory.client(revision=OLD)
    task_id = task_of(mcp)
    with waiting_for_result(mcp, task_id) as waiting:
        if cause == "the task is unknown":
            ApprovalRequest.objects.update(
                status="done", ended_at=timezone.now() - timedelta(days=2)
            )
        else:
            token = mcp_tokens.list_project_tokens(directory.grant.user).get()
            mcp_tokens.revoke(token, user=directory.grant.user, address="")
        (answer,) = waiting.result(30).events
    (refused,) = ActionExecution.objects.filter(method="tasks/result")
    assert refused.outcome == "protocol_error"
    assert refused.reason == f"rpc_{-answer['error']['code']}"
    assert refused.detail == answer["error"]["message"]


@pytest.mark.usefixtures("short_looks")
def test_who_waits_for_a_result_has_no_approvers_looked_up(
    directory: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    mcp = directory.client(revision=OLD)
    task_id = task_of(mcp)
    look, describe = ApprovalTasks.find, policies.describe_approvers
    looks = create_autospec(look, side_effect=look)
    descriptions = create_autospec(describe, side_effect=describe)
    with waiting_for_result(mcp, task_id) as waiting:
        monkeypatch.setattr(policies, "describe_approvers", descriptions)
        monkeypatch.setattr(ApprovalTasks, "find", looks)
        wait_until(lambda: looks.call_count > 3)
        assert not descriptions.called
        directory.decide(task_id)
        waiting.result(30)


def test_the_newest_tasks_are_listed(directory: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("approvals.call_tasks.MAX_LISTED_TASKS", 2)
    mcp = directory.client(revision=OLD)
    created = [
        call(mcp, arguments={"id": name}).result["task"]["taskId"] for name in ("ada", "bob", "eve")
    ]
    assert [task["taskId"] for task in mcp.request("tasks/list").result["tasks"]] == created[1:]


@pytest.mark.parametrize("revision", [OLD, NEW])
@pytest.mark.parametrize("status", [200, 500])
def test_a_keyed_call_whose_result_was_read_from_its_task_is_made_once_in_a_day(
    directory: Directory, revision: Revision, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other tests travel in time, and the ids of a process never go back.
    monkeypatch.setattr(ids, "_sequence", ids.Sequence(ids._unix_milliseconds))
    mcp, has_failed = directory.client(revision=revision), status == 500
    declared = DECLARED["_meta"] if revision is NEW else {}

    def call_with_key(**params: Any) -> Any:
        meta = {**declared, "idempotency_key": "one"}
        sent = {"name": WAITS, "arguments": {"id": "ada"}, "_meta": meta, **params}
        return mcp.request("tools/call", sent).result

    directory.site.usual = saying({"deleted": not has_failed}, status)
    created = call_with_key() if revision is NEW else call_with_key(task={})["task"]
    directory.decide(created["taskId"])
    ask(mcp, "get" if revision is NEW else "result", created["taskId"])
    ended_at = ApprovalRequest.objects.get().ended_at
    assert ended_at is not None
    for age in (timedelta(minutes=16), timedelta(hours=23)):
        with time_machine.travel(ended_at + age):
            again = call_with_key()
            page = browser_of(directory.owner).get(f"/requests/{created['taskId']}")
        assert again["isError"] is has_failed
        if not has_failed:
            assert again["_meta"]["repeated"] is True
            # The first result was stored with the key, which answers what comes after it.
            assert "An identical call was answered with this result" in page.content.decode()
    assert (ApprovalRequest.objects.count(), len(directory.site.seen)) == (1, 1)


@pytest.mark.parametrize("revision", [OLD, NEW])
def test_a_task_whose_stored_result_has_become_too_large_ends_with_an_error_of_the_tool(
    directory: Directory, revision: Revision, settings: Any
) -> None:
    directory.site.usual = saying({"deleted": ["x" * 40] * 100})
    mcp = directory.client(revision=revision)
    task_id = task_of(mcp)
    directory.decide(task_id)
    settings.HALO_MAX_RESULT_BYTES = 2_000
    assert state(mcp, task_id) == "completed"
    read = ask(mcp, "get" if revision is NEW else "result", task_id).result
    result = read["result"] if revision is NEW else read
    assert result["isError"] is True
    assert "too large" in result["content"][0]["text"]


@pytest.mark.django_db(transaction=True)
def test_of_an_approval_and_a_cancellation_at_once_one_takes_effect(directory: Directory) -> None:
    for _ in range(6):
        directory.site.seen.clear()
        mcp = directory.client()
        task_id = task_of(mcp)
        cancel = partial(ask, mcp, "cancel", task_id)
        approve = partial(browser_of(directory.owner).post, f"/requests/{task_id}/approve")
        statuses = [
            answer.status if isinstance(answer, Reply) else answer.status_code
            for answer in run_at_once(approve, cancel, cancel)
        ]
        assert statuses == [302, 200, 200]
        ended = (state(mcp, task_id), ApprovalRequest.objects.get(pk=task_id).status)
        assert ended in {("completed", "done"), ("cancelled", "declined")}
        assert len(directory.site.seen) == (ended[0] == "completed")
    connection.close()
