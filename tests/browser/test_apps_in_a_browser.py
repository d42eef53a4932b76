"""The MCP Apps in a host: what they show by day and by night, on a phone, and of hostile values."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import chromium
from tests.browser.app_host import AppHost, showing

pytestmark = [pytest.mark.browser]

APPROVAL, FIGURES, TIME_OFF = "ui://halo/approval", "ui://halo/figures", "ui://halo/time-off"
MARKUP = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>"
WORD = "Donaudampfschifffahrtsgesellschaft" * 12
REVERSED = "safe\u202egnp.exe"
HOSTILE = f"{MARKUP} {WORD} {REVERSED}"
VIEWS = [
    ({"width": 320, "height": 2200}, "light"),
    ({**chromium.PHONE, "height": 1800}, "dark"),
    (chromium.DESKTOP, "light"),
    (chromium.DESKTOP, "dark"),
]
URL = "https://halo.example/requests/019"


def structured_result(value: Any, **more: Any) -> dict[str, Any]:
    return {"content": [], "structuredContent": value, "isError": False, **more}


def pending(**changes: Any) -> dict[str, Any]:
    card = {
        "status": "pending",
        "summary": "delete_user",
        "project": "Directory",
        "request": "DELETE https://api.example/users/7?force=true",
        "arguments": [
            {"name": "id", "text": "7", "isCut": False, "isDeclared": True},
            {"name": "note", "text": HOSTILE, "isCut": True, "isDeclared": False},
        ],
        "omitted": 3,
        "deciders": "Ada Lovelace (ada@example.com)",
        "expiresAt": "2026-11-28T14:15:00+00:00",
        "url": URL,
        "isRequestCut": False,
        **changes,
    }
    found = {"status": "PENDING_APPROVAL", "requestId": "019", "approvalUrl": URL, "message": "M"}
    return structured_result(found, _meta={"approval": card})


PREPARED = structured_result(
    {
        "confirmation_token": "secret-token",
        "expires_at": "2026-11-28T14:15:00Z",
        "frozen_payload": {
            "operation_id": "updateTimeOff",
            "method": "PATCH",
            "path": "/time-off/time_off_1",
            "body": {},
        },
        "difference": [
            {"field": "end_date", "from": "2026-06-05", "to": "2026-06-08"},
            {"field": "is_to_half_day", "from": False, "to": True},
            {"field": "note", "to": HOSTILE},
        ],
        "person": {"id": "per_1", "display_name": HOSTILE},
    },
    _meta={"preparedChange": True},
)


def series(count: int, *, name: str = "tickets") -> dict[str, Any]:
    items: list[dict[str, Any]] = [
        {"start": f"2026-{5 + day // 28:02}-{day % 28 + 1:02}", "value": (day * 7919) % 97}
        for day in range(count)
    ]
    items[-1]["complete"] = False
    return structured_result(
        {
            "items": items,
            "summary": {
                "points": count,
                "total": 1234,
                "mean": 12.5,
                "highest": items[0],
                "lowest": items[1],
            },
            "searched": {"metric": name, "company": {"id": "c", "name": HOSTILE}},
            "hints": [HOSTILE],
        }
    )


def absences() -> dict[str, Any]:
    def row(person: str, start: str, end: str, status: str, **more: Any) -> dict[str, Any]:
        facts = {"start_date": start, "end_date": end, "status_code": status}
        return {"person_id": person, "length": 3.0, "status": status.title(), **facts, **more}

    return structured_result(
        {
            "data": [
                row("per_ada", "2026-06-29", "2026-07-03", "approved", is_to_half_day=True),
                row("per_bob", "2026-07-02", "2026-07-02", "pending"),
                row("per_eve", "2026-07-06", "2026-07-07", "rejected"),
                row(HOSTILE, "2026-07-20", "2026-08-02", "approved"),
            ],
            "pagination": {"has_more": True, "next_cursor": "x", "limit": 4},
        }
    )


def is_text(host: AppHost) -> None:
    """The hostile value is shown, as text, and has done nothing."""
    assert MARKUP in host.text
    assert WORD in host.text
    assert "safe\\u202egnp.exe" in host.text
    assert (host.frame.locator("img").count(), host.frame.locator("script").count()) == (0, 1)
    assert host.frame.evaluate("document.title") != "owned"


@pytest.mark.parametrize(
    ("uri", "result"),
    [
        (APPROVAL, pending()),
        (APPROVAL, PREPARED),
        (FIGURES, series(30)),
        (FIGURES, series(170)),
        (TIME_OFF, absences()),
    ],
    ids=["request", "prepared change", "bars", "curve", "calendar"],
)
def test_an_app_is_readable_in_every_view_and_shows_hostile_values_as_text(
    browser: Browser, pictures: Path, uri: str, result: Any, request: pytest.FixtureRequest
) -> None:
    context = {"locale": "en-US", "timeZone": "UTC"}
    given = {"from": "2026-07-01", "to": "2026-07-31"}
    host = AppHost(uri, result, input=given, context=context)
    with showing(browser, host):
        host.is_shown()
        is_text(host)
        for size, theme in VIEWS:
            host.visitor.page.set_viewport_size(size)
            host.send("ui/notifications/host-context-changed", theme=theme)
            expect(host.frame.locator(f"html[data-theme={theme}]")).to_be_attached()
            assert host.findings() == []
            name = f"app-{request.node.callspec.id}-{size['width']}-{theme}.png"
            host.is_as_high_as_its_frame()
            host.visitor.page.screenshot(path=pictures / name)


def test_the_card_shows_what_is_sent_who_decides_and_until_when(browser: Browser) -> None:
    context = {"locale": "en-GB", "timeZone": "Europe/Berlin"}
    with showing(browser, AppHost(APPROVAL, pending(), context=context)) as host:
        host.is_shown()
        for words in (
            "Waiting for approval",
            "delete_user",
            "DELETE https://api.example/users/7?force=true",
            "Not in the API's description",
            "The rest is on the page of the request.",
            "3 more on the page of the request.",
            "Ada Lovelace (ada@example.com)",
            "28 Nov 2026, 15:15",
            "A person decides on that page, signed in.",
        ):
            assert words in host.text
        assert host.frame.locator("button, form, input").count() == 0
        host.frame.get_by_role("link", name="Open the request").click()
        host.wait_for_message("ui/open-link")
        (opened,) = host.received_messages("ui/open-link")
        assert opened["params"] == {"url": URL}
        assert host.received_messages("tools/call") == []


@pytest.mark.parametrize("is_cut", [True, False])
def test_a_request_that_is_cut_says_where_the_rest_is(browser: Browser, *, is_cut: bool) -> None:
    card = pending(request="POST https://api.example/", isRequestCut=is_cut, arguments=[])
    with showing(browser, AppHost(APPROVAL, card)) as host:
        host.is_shown()
        assert ("The rest is on the page of the request." in host.text) is is_cut


def test_an_address_is_shown_where_the_host_opens_none(browser: Browser) -> None:
    with showing(browser, AppHost(APPROVAL, pending(), opens=False)) as host:
        host.is_shown()
        assert host.frame.get_by_text("Open this address").is_hidden()
        host.frame.get_by_role("link", name="Open the request").click()
        expect(host.frame.get_by_text(URL)).to_be_visible()
    with showing(browser, AppHost(APPROVAL, pending(), capabilities={})) as host:
        host.is_shown()
        expect(host.frame.get_by_text(URL)).to_be_visible()


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "//evil.example/", ""])
def test_a_link_that_is_no_web_address_is_none(browser: Browser, url: str) -> None:
    with showing(browser, AppHost(APPROVAL, pending(url=url))) as host:
        host.is_shown()
        assert host.frame.locator("a").count() == 0


def test_a_prepared_change_is_shown_with_its_difference_and_without_its_token(
    browser: Browser,
) -> None:
    with showing(browser, AppHost(APPROVAL, PREPARED)) as host:
        host.is_shown()
        rows = host.frame.locator("tbody tr").all_inner_texts()
        assert [row.split() for row in rows[:2]] == [
            ["end", "date", "2026-06-05", "2026-06-08"],
            ["is", "to", "half", "day", "no", "yes"],
        ]
        assert "not shown" in rows[2]
        assert "secret-token" not in host.frame.content()


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("running", "Approved, not finished yet"),
        ("done", "Approved and carried out"),
        ("failed", "Approved, and failed"),
        ("unknown", "Approved, with an unknown outcome"),
        ("declined", "Rejected"),
        ("expired", "Expired"),
        ("of another version", "Request for approval"),
    ],
)
def test_a_request_that_does_not_wait_says_what_became_of_it(
    browser: Browser, status: str, words: str
) -> None:
    with showing(browser, AppHost(APPROVAL, pending(status=status))) as host:
        host.is_shown()
        assert host.text.splitlines()[0] == words
        assert "delete_user" in host.text
        assert "Who can decide" not in host.text
        assert host.frame.get_by_role("link", name="Open the request").count() == 1


@pytest.mark.parametrize(
    "body",
    [
        {"status": "PENDING_APPROVAL", "requestId": "1", "approvalUrl": "https://evil.example/"},
        {"status": "pending", "request_id": "1", "url": "https://evil.example/"},
        {"difference": [], "frozen_payload": {"operation_id": "deleteAll"}},
        {"_meta": {"approval": {"status": "pending", "url": "https://evil.example/"}}},
        {"_meta": {"preparedChange": True}, "difference": []},
    ],
    ids=str,
)
def test_an_api_cannot_draw_a_request_or_a_prepared_change(browser: Browser, body: Any) -> None:
    text = {"content": [{"type": "text", "text": json.dumps(body)}], "isError": False}
    for result in (text, {**text, "structuredContent": body}):
        with showing(browser, AppHost(APPROVAL, result)) as host:
            host.is_shown()
            assert host.text.splitlines()[0] == "Result"
            assert json.dumps(body) in host.text
            assert host.frame.locator("a, table").count() == 0


def test_a_result_is_shown_without_a_word_about_an_approval(browser: Browser) -> None:
    done = {"content": [{"type": "text", "text": MARKUP}], "isError": False}
    # An idempotency key repeats a result, too, and the result of a task has no mark.
    for result in (done, {**done, "_meta": {"repeated": True}}):
        with showing(browser, AppHost(APPROVAL, result)) as host:
            host.is_shown()
            assert host.text.split("\n\n") == ["Result", MARKUP]
    with showing(browser, AppHost(APPROVAL, {**done, "isError": True})) as host:
        host.is_shown()
        # The call may have been carried out: its text says what is known.
        assert host.text.split("\n\n") == ["Error", MARKUP]
        host.send("ui/notifications/tool-cancelled", reason="Stopped.")
        expect(host.frame.get_by_text("The call was cancelled. Stopped.")).to_be_visible()


def test_figures_are_bars_with_a_table_and_a_mark_at_what_is_not_over(browser: Browser) -> None:
    with showing(browser, AppHost(FIGURES, series(30))) as host:
        host.is_shown()
        assert host.frame.locator("rect.bar").count() == 30
        assert host.frame.locator("rect.bar.open").count() == 1
        host.frame.get_by_text("Show as a table").click()
        assert host.frame.locator("tbody tr").count() == 30
        assert "97" not in host.frame.locator("tbody tr").first.inner_text()
        expect(host.frame.get_by_role("img", name="Tickets")).to_be_visible()
    with showing(browser, AppHost(FIGURES, structured_result({"items": []}))) as host:
        host.is_shown()
        assert "No figures in this period." in host.text


def test_the_calendar_counts_absences_by_day_and_lists_those_of_a_day(browser: Browser) -> None:
    given = {"from": "2026-06-01", "to": "2026-08-31"}
    with showing(browser, AppHost(TIME_OFF, absences(), input=given)) as host:
        host.is_shown()
        frame = host.frame
        expect(frame.get_by_role("button", name="Previous month")).to_be_disabled()
        frame.get_by_role("button", name="Next month").click()
        expect(frame.get_by_role("heading", name="July 2026")).to_be_visible()
        day = frame.get_by_role("button", name="Jul 2, 2026: 1 approved, 1 pending")
        day.click()
        expect(frame.locator("li")).to_have_count(2)
        assert "per_ada" in host.text
        assert "last day half" in host.text
        expect(day).to_be_focused()
        # Rejected requests take no day, and are listed.
        assert frame.get_by_role("button", name="Jul 6").count() == 0
        day.press("Enter")
        expect(frame.locator("li")).to_have_count(4)
        assert "There is more time off than this result has." in host.text


def test_the_calendar_shows_the_last_month_of_an_absence_of_years(browser: Browser) -> None:
    row = {"person_id": "per_ada", "status_code": "approved", "status": "Approved", "length": 780}
    row |= {"start_date": "2024-02-10", "end_date": "2027-02-05"}
    result = structured_result({"data": [row]})
    given = {"from": "2027-02-01", "to": "2027-02-28"}
    with showing(browser, AppHost(TIME_OFF, result, input=given)) as host:
        host.is_shown()
        days = host.frame.locator("button.day")
        expect(days).to_have_count(5)
        expect(days.last).to_have_accessible_name("Feb 5, 2027: 1 approved")
        host.frame.get_by_role("button", name="Previous month").click()
        expect(days).to_have_count(31)


@pytest.mark.parametrize(
    ("zone", "today"), [("Pacific/Kiritimati", "2"), ("Pacific/Pago_Pago", "1"), ("No/Zone", "1")]
)
def test_today_is_the_day_in_the_zone_of_the_host(browser: Browser, zone: str, today: str) -> None:
    given = {"from": "2026-07-01", "to": "2026-07-31"}
    host = AppHost(TIME_OFF, None, input=given, context={"timeZone": zone})
    with showing(browser, host):
        host.visitor.page.clock.set_fixed_time("2026-07-01T12:00:00Z")
        chromium.wait_until(host.frame, "state.context.timeZone")
        host.send("ui/notifications/tool-input", arguments=given)
        host.send("ui/notifications/tool-result", **absences())
        host.is_shown()
        assert host.frame.locator(".today").all_inner_texts() == [today]


def test_an_app_answers_the_host_and_listens_to_no_one_else(browser: Browser) -> None:
    with showing(browser, AppHost(APPROVAL, pending())) as host:
        host.is_shown()
        (sent,) = host.received_messages("ui/initialize")
        assert sent["params"]["protocolVersion"] == "2026-01-26"
        page = host.visitor.page
        page.evaluate("send({id: 'p', method: 'ping'}); send({id: 'n', method: 'no/such'})")
        page.evaluate("send({id: 't', method: 'ui/resource-teardown', params: {}})")
        chromium.wait_until(page, "received.filter(one => !one.method).length === 3")
        answers = {one["id"]: one for one in page.evaluate("received") if "method" not in one}
        assert (answers["p"]["result"], answers["t"]["result"]) == ({}, {})
        assert answers["n"]["error"]["code"] == -32601
        forged = {"jsonrpc": "2.0", "method": "ui/notifications/tool-cancelled", "params": {}}
        host.frame.evaluate("message => window.postMessage(message, '*')", forged)
        page.evaluate("send({id: 'q', method: 'ping'})")
        chromium.wait_until(page, "received.some(one => one.id === 'q')")
        assert "Waiting for approval" in host.text


def test_the_colors_of_a_host_are_used_if_it_sends_a_whole_set(browser: Browser) -> None:
    def background(variables: dict[str, str]) -> str:
        context = {"theme": "light", "styles": {"variables": variables}}
        with showing(browser, AppHost(APPROVAL, pending(), context=context)) as host:
            host.is_shown()
            color: str = host.frame.evaluate("getComputedStyle(document.body).backgroundColor")
            return color

    whole = {"--color-background-primary": "rgb(1, 2, 3)", "--color-text-primary": "white"}
    assert background(whole) == "rgb(1, 2, 3)"
    assert background({"--color-background-primary": "rgb(1, 2, 3)"}) == "rgb(255, 255, 255)"


def test_the_policy_of_a_document_stops_what_others_insert(browser: Browser) -> None:
    insert = """() => {
        document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.owned = 1">')
        const script = document.createElement('script')
        script.textContent = 'window.owned = 1'
        document.body.append(script)
        return fetch('/other').catch(() => 'stopped')
    }"""
    with showing(browser, AppHost(APPROVAL, pending())) as host:
        host.is_shown()
        assert host.frame.evaluate(insert) == "stopped"
        expect(host.frame.locator("img")).to_be_attached()
        assert host.frame.evaluate("window.owned") is None
        stopped = " ".join(host.visitor.problems)
        for directive in ("img-src", "script-src-elem", "connect-src"):
            assert f"{directive} stopped" in stopped
        host.visitor.problems.clear()
