"""Slack over MCP, against a fake vendor that validates every request against the contract."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given

from integrations.slack import TOOLSET
from mcp_protocol.revisions import Revision
from tests.drivers.fake_vendors import failures
from tests.drivers.fake_vendors.connected import connect, connection
from tests.drivers.fake_vendors.contract import serving
from tests.drivers.fake_vendors.failures import message, row
from tests.drivers.fake_vendors.slack import TS, Slack
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tools_registry import vendors
from tools_registry.api import ToolFailure, Unauthorized, VendorAccount

POST = "slack.post_message"
HELLO = {"text": "Hello & <https://example.com|there>"}


@pytest.fixture
def slack(grant: Grant, settings: Any) -> Iterator[Slack]:
    fake = Slack()
    settings.HALO_VENDOR_URLS = {"slack": fake.url}
    connect(
        grant,
        "slack",
        fake,
        default_channel="#general",
        allowed_channels="support, C0BOARD001, gone, D0PERSON01, @boss, mpdm-ann--bob-1",
    )
    with serving(fake):
        yield fake


def test_a_message_goes_to_the_default_channel(mcp: McpClient, slack: Slack) -> None:
    reply = mcp.with_revision(Revision.V2025_06_18).call(POST, HELLO)
    assert reply.result["structuredContent"] == {"channel": "C0GENERAL1", "ts": TS}
    (sent,) = slack.seen
    assert sent.line == "POST /api/chat.postMessage"
    assert sent.headers["authorization"] == "Bearer the-organizations-token"
    assert sent.form == {
        "channel": "#general",
        "text": HELLO["text"],
        "unfurl_links": "false",
        "unfurl_media": "false",
    }
    assert (row().outcome, row().action) == ("success", "post_message")


@pytest.mark.parametrize("channel", ["support", "#support", " support ", "#general", "general"])
def test_a_channel_is_named_with_or_without_its_sign(
    mcp: McpClient, slack: Slack, channel: str
) -> None:
    assert mcp.call(POST, {**HELLO, "channel": channel}).facts["ts"] == TS
    assert slack.seen[0].form["channel"] == f"#{channel.strip().removeprefix('#')}"


def test_an_answer_goes_into_its_thread(mcp: McpClient, slack: Slack) -> None:
    assert mcp.call(POST, {**HELLO, "thread_ts": TS}).facts["ts"] == TS
    assert slack.seen[0].form["thread_ts"] == TS


PRIVATE = ["D0PERSON01", "U0PERSON01", "W0PERSON01", "@boss", "#@boss", "mpdm-ann--bob-1"]


@pytest.mark.parametrize("channel", [*PRIVATE, "<@U0PERSON01>"])
def test_a_direct_message_is_blocked_even_where_the_list_has_it(
    mcp: McpClient, slack: Slack, channel: str
) -> None:
    answer = message(mcp.call(POST, {**HELLO, "channel": channel}))
    assert (answer["code"], answer["field"]) == (-32602, "channel")
    assert answer["reason"] == "must be a channel: direct messages are blocked"
    assert slack.seen == []


@pytest.mark.parametrize("default", ["D0PERSON01", "@boss"])
def test_no_default_channel_is_a_person(
    mcp: McpClient, grant: Grant, slack: Slack, default: str
) -> None:
    connect(grant, "slack", slack, default_channel=default)
    assert message(mcp.call(POST, HELLO))["field"] == "channel"
    assert slack.seen == []


@pytest.mark.parametrize("channel", ["random", "C0RANDOM01", "Support", "support,random", "#"])
@pytest.mark.parametrize("listed", [{"allowed_channels": "support"}, {}], ids=["listed", "nothing"])
def test_only_channels_that_an_admin_named_are_posted_to(
    mcp: McpClient, grant: Grant, slack: Slack, channel: str, listed: dict[str, str]
) -> None:
    connect(grant, "slack", slack, **listed)
    answer = message(mcp.call(POST, {**HELLO, "channel": channel}))
    assert (answer["code"], answer["field"]) == (-32602, "channel")
    assert slack.seen == []


def test_a_refused_channel_is_answered_with_those_that_are_allowed(
    mcp: McpClient, grant: Grant, slack: Slack
) -> None:
    connect(grant, "slack", slack, default_channel="general", allowed_channels="support")
    answer = message(mcp.call(POST, {**HELLO, "channel": "random"}))
    assert answer["reason"] == "must be one of: general, support"


def test_nobody_can_call_the_whole_channel(mcp: McpClient, slack: Slack) -> None:
    mcp.call(POST, {"text": "<!channel> <!here|x> <!subteam^S1> @here"})
    sent = slack.seen[0].form["text"]
    assert sent == "&lt;!channel> &lt;!here|x> &lt;!subteam^S1> @here"


@pytest.mark.parametrize(
    "text", ["", " \n", "x" * 40_001, "<!" * 8_001], ids=["empty", "blank", "long", "long-then"]
)
def test_a_text_that_slack_would_refuse_or_cut_is_refused_here(
    mcp: McpClient, slack: Slack, text: str
) -> None:
    answer = message(mcp.call(POST, {"text": text}))
    assert (answer["code"], answer["field"]) == (-32602, "text")
    assert slack.seen == []


def test_the_longest_text_arrives_whole(mcp: McpClient, slack: Slack) -> None:
    assert mcp.call(POST, {"text": "é" * 40_000}).facts["ts"] == TS
    assert len(slack.seen[0].form["text"]) == 40_000


def test_a_refused_token_is_unauthorized_and_stays_out_of_the_answer(
    mcp: McpClient, slack: Slack
) -> None:
    slack.token = "another"
    answer = message(mcp.call(POST, HELLO))
    assert answer["code"] == -32002
    assert (row().outcome, row().reason) == ("integration_error", "unauthorized")
    assert "the-organizations-token" not in str(answer)


def test_a_channel_that_slack_does_not_know_is_not_found(mcp: McpClient, slack: Slack) -> None:
    assert message(mcp.call(POST, {**HELLO, "channel": "gone"}))["code"] == -32601
    assert len(slack.seen) == 1


def test_a_channel_without_the_bot_says_what_to_do(mcp: McpClient, slack: Slack) -> None:
    answer = message(mcp.call(POST, {**HELLO, "channel": "C0BOARD001"}))
    assert answer["code"] == -32603
    assert "invited" in answer["message"]
    assert len(slack.seen) == 1


def no(error: Any) -> dict[str, Any]:
    return {"ok": False, "error": error}


# Status, body, then the code and the audit row's outcome and upstream status.
TROUBLE: dict[str, tuple[int, Any, int, str, int | None]] = {
    "revoked": (200, no("token_revoked"), -32002, "integration_error", 200),
    "scope": (200, no("missing_scope"), -32002, "integration_error", 200),
    "archived": (200, no("is_archived"), -32603, "integration_error", 200),
    "too-long": (200, no("msg_too_long"), -32602, "validation_failed", 200),
    "l4-values": (200, no("invalid_arguments"), -32602, "validation_failed", 200),
    "l4-channel": (200, no("channel_not_found"), -32601, "not_found", 200),
    "l4-address": (404, b"<html>", -32603, "integration_error", 404),
    "unreceived-of": (200, no("something_new"), -32603, "integration_error", 200),
    "odd-code": (200, no("\x1b[2J" * 500), -32603, "integration_error", 200),
    "no-code": (200, no({"a": 1}), -32603, "integration_error", 200),
    "busy": (429, no("ratelimited"), -32603, "integration_error", 429),
    "busy-for-a-channel": (200, no("rate_limited"), -32603, "integration_error", 200),
    "down": (503, b"<html>", -32603, "integration_error", 503),
    "ok-and-down": (500, {"ok": True}, -32603, "integration_error", 500),
    "garbage": (200, b"<html>", -32603, "integration_error", 200),
    "empty": (200, b"", -32603, "integration_error", 200),
    "list": (200, [1], -32603, "integration_error", 200),
    "neither": (200, {"ok": 1}, -32603, "integration_error", 200),
    "no-ts": (200, {"ok": True, "channel": "C1"}, -32603, "integration_error", 200),
    "odd-channel": (200, {"ok": True, "channel": 1, "ts": TS}, -32603, "integration_error", 200),
}


@pytest.mark.parametrize("trouble", TROUBLE.values(), ids=TROUBLE)
def test_slack_s_trouble_is_reported_in_plain_words_and_recorded(
    mcp: McpClient, slack: Slack, trouble: Any
) -> None:
    status, body, code, outcome, upstream = trouble
    # Longer than any call may take.
    slack.say(status, body, Retry_After="3600")
    answer = message(mcp.call(POST, HELLO))
    assert (answer["code"], row().outcome, row().upstream_status) == (code, outcome, upstream)
    assert answer["message"].isprintable()
    assert len(answer["message"]) < 200
    assert len(slack.seen) == 1


def test_the_check_names_the_workspace(grant: Grant, slack: Slack) -> None:
    check, vendor = connection("slack").check, vendors.get_vendor(grant.organization.pk, "slack")
    said = check(vendor)
    assert isinstance(said, VendorAccount)
    assert (said.name, said.id) == ("Slack workspace Acme as halo", "T0ACME001")
    slack.token = "another"
    with pytest.raises(Unauthorized):
        check(vendor)


def test_the_check_refuses_a_token_of_a_person(grant: Grant, slack: Slack) -> None:
    slack.is_bot = False
    with pytest.raises(ToolFailure, match="belongs to a person"):
        connection("slack").check(vendors.get_vendor(grant.organization.pk, "slack"))


def test_the_check_names_the_scope_that_is_missing(grant: Grant, slack: Slack) -> None:
    slack.scopes = "channels:read,users:read"
    with pytest.raises(ToolFailure, match="lacks the scope chat:write"):
        connection("slack").check(vendors.get_vendor(grant.organization.pk, "slack"))


@pytest.mark.parametrize("revision", [Revision.V2025_03_26, Revision.V2025_11_25], ids=str)
def test_any_arguments_at_all_are_answered_clearly(
    mcp: McpClient, slack: Slack, settings: Any, revision: Revision
) -> None:
    failures.raise_limits(settings)
    (tool,) = TOOLSET.tools

    @failures.FUZZ
    @given(failures.arguments_like(tool, "support", "D0PERSON01", TS, "<!here>"))
    def fuzz(arguments: dict[str, Any]) -> None:
        failures.answers_clearly(mcp.with_revision(revision), tool, arguments)

    fuzz()
    assert slack.breaches == []
