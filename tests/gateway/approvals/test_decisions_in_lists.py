"""The list of requests: what each line says, and decisions that are made from it."""

import re
from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

import pytest
from django.test import Client

from approvals.models import ApprovalRequest
from foundation.admin_urls import page_url, row_url
from gateway.models import PolicyRule, Project, ProjectTool
from tests.drivers.billing import browser_of
from tests.drivers.grants import make_grant
from tests.drivers.reviewed_project import REMOVE, WRITE, ReviewedProject
from tests.drivers.shared_connection import wait_for_jobs
from tools_registry.registry import Catalogue
from workspace.models import Membership, Role


def to_decide(browser: Client, **wanted: str) -> str:
    page = " ".join(browser.get("/requests", wanted).content.decode().split())
    return page.partition('id="to-decide"')[2].partition("</section>")[0]


def line_of(browser: Client, row: ApprovalRequest) -> str:
    lines: list[str] = re.findall(r"<li> <div class=\"call\">.*?</time> </li>", to_decide(browser))
    return next(line for line in lines if f'/requests/{row.pk}"' in line)


def test_a_line_says_what_would_be_sent_by_whom_where_and_until_when(
    project: ReviewedProject,
) -> None:
    row = project.request(WRITE, name="<b>Ada\u202e", amount=7, address={"street": "Elm"})
    line = line_of(project.owner(), row)
    for shown in (
        "<code>POST https://api.example/v1/users</code>",
        "<code>name</code> <bdi>&lt;b&gt;Ada\\u202e</bdi>",
        "<code>amount</code> <bdi>7</bdi>",
        "&quot;street&quot;",
        row.user_email,
        "<bdi>Users</bdi>",
        "Expires in ",
    ):
        assert shown in line
    assert "\u202e" not in line


def test_each_link_of_the_list_is_named_by_its_call(project: ReviewedProject) -> None:
    row = project.request(WRITE, name="Ada")
    line = line_of(project.owner(), row)
    names = re.search(r'aria-labelledby="([^"]+)"', line)
    assert names is not None
    link, call = names[1].split()
    assert f'id="{link}"' in line
    assert "Ada" in line.partition(f'id="{call}"')[2].partition("</ul>")[0]


def test_a_request_is_decided_from_the_list_and_leads_back_to_it(
    project: ReviewedProject,
) -> None:
    first, second = (project.request(WRITE, name=name) for name in ("Ada", "Bob"))
    owner, asked = project.owner(), {"then": "list", "filter": "tool=create&x=//e.example"}
    assert "Approve </button>" in line_of(owner, first)
    approved = owner.post(f"/requests/{first.pk}/approve", asked)
    wait_for_jobs()
    back = "/requests?tool=create&x=%2F%2Fe.example#to-decide"
    assert (approved.status_code, approved["Location"]) == (302, back)
    rejected = owner.post(f"/requests/{second.pk}/reject", {"then": "list"})
    assert rejected["Location"] == "/requests#to-decide"
    assert {*ApprovalRequest.objects.values_list("status", flat=True)} == {"done", "declined"}
    assert project.executed == [{"name": "Ada"}]
    assert "No requests wait for you." in to_decide(owner)


def test_only_a_call_that_the_line_shows_in_full_is_decided_from_it(
    project: ReviewedProject,
) -> None:
    long = project.request(WRITE, name="x" * 161)
    lines = project.request(WRITE, name="a\nb")
    unknown = project.request(WRITE, name="Ada", address={"street": "Elm"})
    secret = project.request(WRITE, name="Ada", password="s" * 201)
    many = project.request(WRITE, name="many")
    numbers = {f"number_{at}": at for at in range(6)}
    tool = ProjectTool.objects.get(name=WRITE)
    tool.operation["full_schema"]["properties"] |= {key: {"type": "integer"} for key in numbers}
    tool.save()
    ApprovalRequest.objects.filter(pk=many.pk).update(arguments={"name": "many", **numbers})
    whole = project.request(WRITE, name="x" * 160)
    owner = project.owner()
    assert "1 more argument" in line_of(owner, many)
    for row in (long, lines, unknown, secret, many):
        assert "Approve </button>" not in line_of(owner, row)
        assert f'href="/requests/{row.pk}" aria-describedby' in line_of(owner, row)
    assert "Approve </button>" in line_of(owner, whole)
    Project.objects.update(version=9)
    assert "Approve </button>" not in to_decide(owner)
    assert "Read and decide" not in to_decide(owner)
    ProjectTool.objects.all().delete()
    assert "Approve </button>" not in to_decide(owner)


def test_an_approval_leads_to_the_next_request_that_the_person_may_approve(
    project: ReviewedProject,
) -> None:
    other = project.member("other", Role.ADMIN)
    project.rule(REMOVE, "require_approval").approvers.add(other)
    rows = [project.request(WRITE, name=f"Ada {number}") for number in range(3)]
    project.request(REMOVE, name="Ada")  # which the owner does not decide
    owner, after = project.owner(), {"then": "next"}
    page = owner.get(f"/requests/{rows[1].pk}").content.decode()
    assert "Approve, then the next of 2" in page
    moves = [
        owner.post(f"/requests/{rows[1].pk}/approve", after)["Location"],
        owner.post(f"/requests/{rows[0].pk}/reject", after)["Location"],
    ]
    assert moves == [f"/requests/{rows[0].pk}", f"/requests/{rows[2].pk}"]
    assert "then the" not in owner.get(f"/requests/{rows[2].pk}").content.decode()
    last = owner.post(f"/requests/{rows[2].pk}/approve", after)
    assert last["Location"] == "/requests#to-decide"
    wait_for_jobs()
    assert [each["name"] for each in project.executed] == ["Ada 1", "Ada 2"]


def test_the_inbox_has_requests_of_every_kind_and_counts_what_the_person_may_approve(
    project: ReviewedProject,
) -> None:
    boss = project.member("boss", Role.ADMIN)
    project.rule(WRITE, "require_approval").approvers.add(boss)
    decided, others = project.request(WRITE, name="Ada"), project.request(REMOVE, name="Ada")
    billing = ApprovalRequest.objects.get(pk=others.pk)
    billing.pk, billing.surface, billing.digest = None, "workspace", "another"
    billing.summary, billing.rule = "Refund 20 EUR", None
    billing.save()
    browser = browser_of(boss)
    inbox = to_decide(browser)
    assert "To decide (2)" in inbox
    assert f'href="/requests/{decided.pk}"' in inbox
    assert f'href="{row_url(billing)}"' in inbox
    assert "Refund 20 EUR" in inbox
    assert f"/requests/{others.pk}" not in inbox
    admin = browser.get(page_url("index")).content.decode()
    assert re.search(r'href="/requests"[^>]*>.*?\b2\b', admin, re.DOTALL)
    page = browser.get(row_url(others)).content.decode()
    assert f'href="/requests/{others.pk}"' in page
    assert to_decide(browser_of(project.member("member"))).count("<time") == 0


def test_selected_requests_are_decided_together_after_each_was_shown_in_full(
    project: ReviewedProject,
) -> None:
    long = "start " + "x" * 300 + " end"
    rows = [project.request(WRITE, name=name) for name in ("Ada", long, "Bob")]
    other = project.request(REMOVE, name="Eve")
    secret = project.request(WRITE, name="Sue", password="s" * 201)
    owner = project.owner()
    listed = to_decide(owner)
    boxes = {f"request-{row.pk}": "on" for row in (*rows, other, secret)}
    assert all(f'name="{name}"' in listed for name in boxes)
    del boxes[f"request-{other.pk}"]
    page = owner.get("/requests/review", boxes).content.decode()
    assert all(f"<bdi>{name}</bdi>" in page for name in ("Ada", "Bob"))
    unfolded = page.partition('<details class="fold" open>')[2].partition("</details>")[0]
    assert f"<code>{long}</code>" in unfolded
    assert "Eve" not in page
    assert "more than 200 characters" in page
    named = re.findall(r'name="request" value="([^"]+)"', page)
    assert sorted(named) == sorted(str(row.pk) for row in rows)
    assert project.executed == []
    assert owner.get("/requests/decide").status_code == 405
    assert owner.post("/requests/decide", {"request": named}).status_code == 404
    given = {"request": [*named, str(secret.pk)], "decision": "approve"}
    done = owner.post("/requests/decide", given, follow=True).content.decode()
    wait_for_jobs()
    assert "3 approved." in done
    assert "Not decided, because they do not wait for you any more: 1." not in done
    assert "more than 200 characters" in done
    assert {each["name"] for each in project.executed} == {"Ada", long, "Bob"}
    states = dict(ApprovalRequest.objects.values_list("pk", "status"))
    assert (states[other.pk], states[secret.pk]) == ("pending", "pending")


def test_nobody_decides_requests_together_that_they_may_not_decide(
    project: ReviewedProject,
) -> None:
    row = project.request(WRITE, name="Ada")
    own, stranger = browser_of(project.grant.user), browser_of(project.member("stranger"))
    given = {"request": [str(row.pk), "no id"], "decision": "approve"}
    for browser in (own, stranger):
        selected = browser.get("/requests/review", {f"request-{row.pk}": "on"})
        assert (selected.status_code, selected["Location"]) == (302, "/requests")
        answer = browser.post("/requests/decide", given, follow=True).content.decode()
        assert "approved." not in answer
        assert "Not decided, because they do not wait for you any more: 2." in answer
    assert Client().post("/requests/decide", given).status_code == 302
    row.refresh_from_db()
    assert (row.status, project.executed) == ("pending", [])


def test_requests_that_changed_since_they_were_selected_are_named_and_not_approved(
    project: ReviewedProject,
) -> None:
    rows = [project.request(WRITE, name=name) for name in ("Ada", "Bob")]
    owner = project.owner()
    boxes = {f"request-{row.pk}": "on" for row in rows}
    given = {"request": [str(row.pk) for row in rows], "decision": "approve"}
    assert owner.post(f"/requests/{rows[0].pk}/reject").status_code == 302
    page = owner.get("/requests/review", boxes).content.decode()
    assert "1 more was selected and does not wait for you any more." in page
    assert "Approve this request" in page

    # The tool has gone since: the request fails at once, and is not counted as approved.
    project.surface = replace(project.surface, catalogue=Catalogue(list))
    ProjectTool.objects.all().delete()
    answer = owner.post("/requests/decide", given, follow=True).content.decode()
    wait_for_jobs()
    assert " approved." not in answer
    assert f"{WRITE}: The tool “{WRITE}” no longer exists" in answer
    assert "Not decided, because they do not wait for you any more: 1." in answer
    # The second click of a double click.
    again = owner.post("/requests/decide", given, follow=True).content.decode()
    assert "Not decided, because they do not wait for you any more: 2." in again
    assert project.executed == []


def test_no_more_requests_are_decided_together_than_a_list_has(project: ReviewedProject) -> None:
    row, owner = project.request(WRITE, name="Ada"), project.owner()
    named = [str(row.pk), *(str(UUID(int=number)) for number in range(50))]
    assert (
        owner.get("/requests/review", {f"request-{one}": "on" for one in named}).status_code == 400
    )
    given = {"request": named, "decision": "approve"}
    assert owner.post("/requests/decide", given).status_code == 400
    row.refresh_from_db()
    assert row.status == "pending"


def test_requests_of_another_organization_are_neither_shown_nor_decided_together(
    project: ReviewedProject,
) -> None:
    row, other = project.request(WRITE, name="Ada"), make_grant()
    Membership.objects.filter(user=other.user).update(role=Role.SUPER_ADMIN)
    stranger = browser_of(other.user)
    assert stranger.get("/requests/review", {f"request-{row.pk}": "on"}).status_code == 302
    for decision in ("approve", "reject"):
        given = {"request": [str(row.pk)], "decision": decision}
        assert stranger.post("/requests/decide", given).status_code == 302
    row.refresh_from_db()
    assert (row.status, project.executed) == ("pending", [])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda: Project.objects.update(version=9), "has to be requested again"),
        (lambda: ProjectTool.objects.update(needs_review=True), "An admin has to review it"),
        (lambda: ProjectTool.objects.update(is_enabled=False), "is switched off"),
        (lambda: ProjectTool.objects.update(is_present=False), "no longer exists"),
        (lambda: Project.objects.update(writes="deny"), "The policy of the project denies"),
    ],
    ids=["document", "review", "tool off", "tool gone", "policy"],
)
def test_a_request_that_cannot_be_approved_says_why_and_offers_no_approval(
    project: ReviewedProject, change: Callable[[], object], why: str
) -> None:
    row, other = project.request(WRITE, name="Ada"), project.request(WRITE, name="Bob")
    owner, requester = project.owner(), browser_of(project.grant.user)
    page, reviewed = f"/requests/{row.pk}", {f"request-{row.pk}": "on"}
    assert "Approve</button>" in owner.get(page).content.decode()
    assert "Approve this request" in owner.get("/requests/review", reviewed).content.decode()
    change()
    shown = owner.get(page).content.decode()
    assert why in shown
    assert "Approve</button>" not in shown
    assert "Reject</button>" in shown
    together = owner.get("/requests/review", reviewed).content.decode()
    assert why in together
    assert "Approve this request" not in together
    line = line_of(owner, row)
    assert why in line
    assert "Approve </button>" not in line
    assert "Reject </button>" in line or "Read and reject" in line
    assert why in requester.get(page).content.decode()
    assert why in requester.get("/requests").content.decode()
    owner.post(f"{page}/reject")
    ended = owner.get(page).content.decode()
    assert "Rejected" in ended
    assert why not in ended
    other.refresh_from_db()
    assert (other.status, project.executed) == ("pending", [])


def test_a_request_that_can_be_approved_again_is_offered_again(project: ReviewedProject) -> None:
    row, owner = project.request(WRITE, name="Ada"), project.owner()
    project.rule(WRITE, "deny", ("/name", "==", "Ada"))
    assert "Approve </button>" not in line_of(owner, row)
    another = project.request(WRITE, name="Bob")
    assert "Approve </button>" in line_of(owner, another)
    PolicyRule.objects.all().delete()
    assert "Approve </button>" in line_of(owner, row)
    owner.post(f"/requests/{row.pk}/approve")
    wait_for_jobs()
    assert project.executed == [{"name": "Ada"}]
