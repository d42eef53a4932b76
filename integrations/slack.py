"""Slack: messages to channels that an admin named, with the token of a bot.

Contract: Slack's published Web API (chat.postMessage, auth.test).
"""

import re
from collections.abc import Mapping
from typing import Annotated, Final

from tools_registry.api import (
    Facts,
    IntegrationFailure,
    Json,
    Keywords,
    NotDone,
    NotFound,
    Setting,
    ToolContext,
    ToolFailure,
    Toolset,
    Unauthorized,
    ValidationFailure,
    Vendor,
    VendorAccount,
    VendorConnection,
    VendorResponse,
    add_sentence,
    error_sentence,
    judge_endpoint_status,
)
from tools_registry.api.readable import one_line

MAX_TEXT_LENGTH: Final = 40_000  # Slack cuts what is longer (chat.postMessage, Truncating content)

MAX_ID: Final = 64
SCOPE: Final = "chat:write"
CHANNEL_ID: Final = re.compile(r"[CG][A-Z0-9]{2,}")
# Conversations with a person, persons themselves, and conversations among a few of them.
DIRECT: Final = re.compile(r"[DUW][A-Z0-9]{2,}|[@<].*|mpdm-.*", re.DOTALL)
CHANNEL: Final = r"[^\s,@<>]{1,81}"
TIMESTAMP: Final = r"[0-9]{10}\.[0-9]{6}"
ERROR_CODE: Final = re.compile(r"[a-z_]{1,60}")

TOKEN_REFUSED: Final = frozenset(
    {
        "account_inactive",
        "invalid_auth",
        "missing_scope",
        "no_permission",
        "not_allowed_token_type",
        "not_authed",
        "token_expired",
        "token_revoked",
    }
)
REFUSED_VALUES: Final = frozenset({"invalid_arguments", "no_text"})
# "It's possible some aspect of the operation succeeded before the error was raised" (Slack,
# chat.postMessage, Errors).
MAY_HAVE_SUCCEEDED: Final = frozenset({"fatal_error", "internal_error", "service_unavailable"})
EXPLAINED: Final[Mapping[str, str]] = {
    "is_archived": "Slack refused: the channel is archived.",
    "not_in_channel": "Slack refused: the bot has to be invited to the channel first.",
    "rate_limited": "The Slack rate limit was reached. Try again later.",
    "ratelimited": "The Slack rate limit was reached. Try again later.",
    "restricted_action": "Slack refused: the workspace does not let the bot post there.",
}


def judge(answer: VendorResponse) -> ToolFailure | None:
    """The failure of an answer, or None: Slack returns most of them with 200 and `ok: false`."""
    body = answer.value if isinstance(answer.value, dict) else {}
    if body.get("ok") is True and answer.is_success:
        return None
    if body.get("ok") is False:
        return _make_failure(str(body.get("error", "")), _sentence(body), answer.status)
    unreadable = IntegrationFailure(
        "Slack's response could not be read.", upstream_status=answer.status
    )
    return judge_endpoint_status(answer) or unreadable


def _sentence(body: Mapping[str, Json]) -> str:
    """Returns what Slack adds to the code of an error, or nothing (Slack, Evaluating responses)."""
    metadata = body.get("response_metadata")
    return error_sentence(metadata.get("messages") if isinstance(metadata, dict) else None)


def _make_failure(error: str, sentence: str, status: int) -> ToolFailure:
    if error in TOKEN_REFUSED:
        return Unauthorized(f"Slack refused the organization's token ({error}).")
    if error == "channel_not_found":
        return NotFound(
            add_sentence("Slack has no such channel, or the bot cannot see it", sentence)
        )
    if error == "msg_too_long":
        return ValidationFailure(
            "The text is too long for Slack.", field="text", reason="is too long"
        )
    if error in REFUSED_VALUES:
        message = add_sentence(f"Slack refused the values ({error})", sentence)
        return ValidationFailure(message, field="arguments", reason=sentence or error)
    if error in MAY_HAVE_SUCCEEDED or not ERROR_CODE.fullmatch(error):
        code = error if error in MAY_HAVE_SUCCEEDED else "no reason is given"
        return IntegrationFailure(f"Slack failed: {code}.", upstream_status=status)
    message = EXPLAINED.get(error, f"Slack refused: {error}.")
    return NotDone(message, upstream_status=status)


def check(vendor: Vendor) -> VendorAccount:
    """Say which workspace the token belongs to, and as which bot it posts.

    Raises ToolFailure for a token of a person, and for one that may not post.
    """
    answer = vendor.send("GET", "/auth.test")
    body = answer.value
    if not body.get("bot_id"):
        raise ToolFailure(
            "This token belongs to a person, in whose name messages would be posted. Use a bot "
            "token."
        )
    scopes = answer.headers.get("x-oauth-scopes")
    if scopes is not None and SCOPE not in scopes.replace(",", " ").split():
        raise ToolFailure(f"The token lacks the scope {SCOPE}.")
    said = f"Slack workspace {one_line(body.get('team'))} as {one_line(body.get('user'))}"
    team = one_line(body.get("team_id"), MAX_ID, otherwise="")
    if not team:
        raise IntegrationFailure("Slack's response could not be read.")
    return VendorAccount(said, team)


TOOLSET = Toolset(
    integration="slack",
    title="Slack",
    connection=VendorConnection(
        base_url="https://slack.com/api",
        credential="Bot token",
        credential_help="Slack: your app, OAuth & Permissions; it begins with xoxb-. Scope: "
        "chat:write. Invite the bot to each channel that it should post to.",
        wrong_credentials={
            "xoxp-": "a user token: messages would be posted in that person's name. Use the bot "
            "token, which begins with xoxb-",
            "xapp-": "an app-level token, which cannot post. Use the bot token",
            "xoxe": "a token that expires and is renewed. Use the bot token of an app without "
            "token rotation",
            "https://hooks.slack.com": "an incoming webhook. Use the bot token",
        },
        check=check,
        settings=(
            Setting(
                "default_channel",
                "Default channel",
                help="Name or id of the channel for messages without one.",
                pattern=CHANNEL,
            ),
            Setting(
                "allowed_channels",
                "Allowed channels",
                help="Names or ids, separated by commas. Only these and the default channel are "
                "posted to.",
                pattern=rf"{CHANNEL}( *, *{CHANNEL})*",
            ),
        ),
        judge=judge,
    ),
)


def _channel(settings: Mapping[str, str], wanted: str) -> str:
    """The channel to post to.

    Raises ValidationFailure for a person, and for a channel that is not allowed.

    An empty list allows the default channel alone.
    """
    default = _plain(settings.get("default_channel", ""))
    channel = _plain(wanted) or default
    listed = [_plain(name) for name in settings.get("allowed_channels", "").split(",")]
    allowed = [name for name in dict.fromkeys([default, *listed]) if name]
    if DIRECT.fullmatch(channel):
        raise _invalid("must be a channel: direct messages are blocked")
    if not channel:
        raise _invalid("is required: no default channel is set")
    if channel not in allowed:
        raise _invalid(one_line(f"must be one of: {', '.join(allowed) or 'none yet'}"))
    # A bare name could be a person's; with the sign it is a channel's.
    return channel if CHANNEL_ID.fullmatch(channel) else f"#{channel}"


def _plain(channel: str) -> str:
    return channel.strip().removeprefix("#")


def _invalid(reason: str) -> ValidationFailure:
    return ValidationFailure(f"The channel {reason}.", field="channel", reason=reason)


def _quiet(text: str) -> str:
    """The text without its power to call everybody: `<!channel>` and the like become plain text.

    Raises ValidationFailure where it is too long then.
    """
    quiet = text.replace("<!", "&lt;!")
    if len(quiet) > MAX_TEXT_LENGTH:
        reason = f"must have at most {MAX_TEXT_LENGTH} characters, where <! counts as five"
        raise ValidationFailure(f"The text {reason}.", field="text", reason=reason)
    return quiet


Text = Annotated[
    str,
    Keywords(
        minLength=1,
        maxLength=MAX_TEXT_LENGTH,
        pattern=r"\S",
        description="The message, in Slack's mark-up.",
    ),
]
Channel = Annotated[
    str,
    Keywords(minLength=1, maxLength=82, description="Name or id of a channel, such as #support."),
]
Timestamp = Annotated[
    str,
    Keywords(
        maxLength=17,
        pattern=f"^{TIMESTAMP}$",
        description="The ts of the message to answer in its thread.",
    ),
]


@TOOLSET.tool(
    title="Post a message",
    description="Post a message to a Slack channel or thread. Only channels that an admin allowed; "
    "without a channel, the default channel. Direct messages are not allowed.",
    output_schema={
        "type": "object",
        "properties": {"channel": {"type": "string"}, "ts": {"type": "string"}},
        "required": ["channel", "ts"],
        "additionalProperties": False,
    },
    mutates=True,
    open_world=True,
)
def post_message(
    context: ToolContext,
    text: Text,
    channel: Channel | None = None,
    thread_ts: Timestamp | None = None,
) -> Facts:
    form = {
        "channel": _channel(context.vendor.settings, channel or ""),
        "text": _quiet(text),
        # Slack fetches a link to show it: an address written by a model could carry secrets out.
        "unfurl_links": "false",
        "unfurl_media": "false",
    }
    if thread_ts is not None:
        form["thread_ts"] = thread_ts
    look_for = f"the message in {one_line(form['channel'])}"
    answer = context.vendor.send("POST", "/chat.postMessage", form=form, look_for=look_for)
    posted_to, ts = answer.value.get("channel"), answer.value.get("ts")
    if not isinstance(posted_to, str) or not re.fullmatch(TIMESTAMP, str(ts)):
        raise IntegrationFailure(
            "Slack's response could not be read.", upstream_status=answer.status
        )
    return Facts({"channel": posted_to, "ts": ts})
