"""Slack: messages to channels that an admin named, with the token of a bot.

Contract: Slack's published Web API (chat.postMessage, auth.test, conversations.list).
"""

import datetime as dt
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Annotated, Final

from tools_registry.api import (
    Facts,
    IntegrationFailure,
    Json,
    Keywords,
    NotDone,
    NotFound,
    PermissionRefused,
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
POSTS_ANYWHERE: Final = "chat:write.public"  # in public channels, also without an invitation
READS_PUBLIC: Final = "channels:read"
READS_PRIVATE: Final = "groups:read"
PUBLIC: Final = "public_channel"
MAX_PAGES: Final = 5
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
        "not_allowed_token_type",
        "org_login_required",
        "two_factor_setup_required",
        "not_authed",
        "token_expired",
        "token_revoked",
    }
)
LACKS_PERMISSION: Final = frozenset(
    {"access_denied", "missing_scope", "no_permission", "team_access_not_granted"}
)
REFUSED_VALUES: Final = frozenset({"invalid_arguments", "no_text"})
# "It's possible some aspect of the operation succeeded before the error was raised" (Slack,
# chat.postMessage, Errors).
MAY_HAVE_SUCCEEDED: Final = frozenset({"fatal_error", "internal_error", "service_unavailable"})
EXPLAINED: Final[Mapping[str, str]] = {
    "app_access_restricted": "Slack refused: the workspace restricts the app.",
    "ekm_access_denied": "Slack refused: the workspace's key management suspends posting.",
    "is_archived": "Slack refused: the channel is archived.",
    "not_in_channel": "Slack refused: the bot has to be invited to the channel first.",
    "rate_limited": "The Slack rate limit was reached.",
    "ratelimited": "The Slack rate limit was reached.",
    "message_limit_exceeded": "Slack refused: the members have posted too many messages.",
    "restricted_action_non_threadable_channel": "Slack refused: the channel has no threads. Leave "
    "out thread_ts.",
    "restricted_action_read_only_channel": "Slack refused: the channel is read-only.",
    "restricted_action_thread_locked": "Slack refused: the thread is locked.",
    "restricted_action_thread_only_channel": "Slack refused: only replies can be posted there. "
    "Give thread_ts.",
    "team_not_found": "Slack refused: the workspace of the token was not found.",
    "restricted_action": "Slack refused: the workspace does not let the bot post there.",
}


def judge(answer: VendorResponse) -> ToolFailure | None:
    """The failure of an answer, or None: Slack returns most of them with 200 and `ok: false`."""
    body = answer.value if isinstance(answer.value, dict) else {}
    if body.get("ok") is True and answer.is_success:
        return None
    if body.get("ok") is False:
        return _make_failure(body, answer.status)
    unreadable = IntegrationFailure(
        "Slack's response could not be read.", upstream_status=answer.status
    )
    return judge_endpoint_status(answer) or unreadable


def _sentence(body: Mapping[str, Json]) -> str:
    """Returns what Slack adds to the code of an error, or nothing (Slack, Evaluating responses)."""
    metadata = body.get("response_metadata")
    messages = metadata.get("messages") if isinstance(metadata, dict) else None
    sentences = map(error_sentence, messages if isinstance(messages, list) else [messages])
    return error_sentence("; ".join(filter(None, sentences)))


def _explain_permission(error: str, body: Mapping[str, Json]) -> str:
    if error != "missing_scope":
        return f"Slack refused: the bot may not do this ({error}). It may have to be a member."
    needed = one_line(body.get("needed"), otherwise="") or "that this needs"
    provided = one_line(body.get("provided"), otherwise="") or "others"
    return f"Slack refused: the token lacks the scope {needed}; it has {provided} (missing_scope)."


def log_id(answer: VendorResponse) -> str:
    """Slack's id of the request, in a header of every answer."""
    return answer.headers.get("x-slack-req-id", "")


def _make_failure(body: Mapping[str, Json], status: int) -> ToolFailure:
    error, sentence = str(body.get("error", "")), _sentence(body)
    if error in LACKS_PERMISSION:
        return PermissionRefused(_explain_permission(error, body))
    if error in TOKEN_REFUSED:
        return Unauthorized(f"Slack refused the organization's token ({error}).")
    return _make_refusal(error, sentence) or _make_other_failure(error, status)


def _make_refusal(error: str, sentence: str) -> ToolFailure | None:
    """The failure of a channel or a value that is wrong, None for another error."""
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
    return None


def _make_other_failure(error: str, status: int) -> ToolFailure:
    if error in MAY_HAVE_SUCCEEDED or not ERROR_CODE.fullmatch(error):
        code = error if error in MAY_HAVE_SUCCEEDED else "no reason is given"
        return IntegrationFailure(f"Slack failed: {code}.", upstream_status=status)
    message = EXPLAINED.get(error, f"Slack refused: {error}.")
    return NotDone(message, upstream_status=status)


def check(vendor: Vendor) -> VendorAccount:
    """Say which workspace the token belongs to, as which bot it posts, and where it cannot.

    Raises ToolFailure for a token of a person, and for one that may not post.
    """
    answer = vendor.send("GET", "/auth.test")
    body = answer.value
    if not body.get("bot_id"):
        raise ToolFailure(
            "This token belongs to a person, in whose name messages would be posted. Use a bot "
            "token."
        )
    header = answer.headers.get("x-oauth-scopes")
    scopes = frozenset((header or "").replace(",", " ").split())
    if header is not None and SCOPE not in scopes:
        raise ToolFailure(f"The token lacks the scope {SCOPE}.")
    said = f"Slack workspace {one_line(body.get('team'))} as {one_line(body.get('user'))}"
    team = one_line(body.get("team_id"), MAX_ID, otherwise="")
    if not team:
        raise IntegrationFailure("Slack's response could not be read.")
    missing, wrong = _check_channels(vendor, scopes)
    return VendorAccount(said, team, tuple(missing), tuple(wrong))


def _check_channels(vendor: Vendor, scopes: AbstractSet[str]) -> tuple[list[str], list[str]]:
    """What is missing for posting to the channels of the settings, and which do not exist."""
    names = _allowed_channels(vendor.settings)
    if not names:
        return [], []
    if READS_PUBLIC not in scopes:
        text = f"The channels of the settings were not checked: the scope {READS_PUBLIC} is needed."
        return [text], []
    is_whole = READS_PRIVATE in scopes
    try:
        found = _list_channels(vendor, "public_channel,private_channel" if is_whole else PUBLIC)
    except (IntegrationFailure, PermissionRefused) as failure:
        return [f"The channels of the settings were not checked. {failure.message}"], []
    if found is None:
        return ["The channels of the settings were not checked: there are too many."], []
    missing: list[str] = []
    wrong: list[str] = []
    for name in names:
        channel = found.get(name)
        if channel is None and not is_whole:
            missing.append(f"#{name} is no public channel; the scope {READS_PRIVATE} shows others.")
        elif channel is None:
            wrong.append(f"Slack has no channel #{name}, or the bot cannot see it.")
        elif channel.get("is_archived"):
            wrong.append(f"The channel #{name} is archived.")
        elif not channel.get("is_member") and POSTS_ANYWHERE not in scopes:
            missing.append(f"The bot has to be invited to #{name}.")
    return missing, wrong


def _list_channels(vendor: Vendor, types: str) -> dict[str, Mapping[str, Json]] | None:
    """The channels of a workspace, by name and by id; None for more than are read."""
    found: dict[str, Mapping[str, Json]] = {}
    query = {"types": types, "limit": "999"}
    for _ in range(MAX_PAGES):
        value = vendor.send("GET", "/conversations.list", query=query).value
        for channel in value["channels"]:
            found |= {channel["name"]: channel, channel["id"]: channel}
        query["cursor"] = (value.get("response_metadata") or {}).get("next_cursor", "")
        if not query["cursor"]:
            return found
    return None


TOOLSET = Toolset(
    integration="slack",
    title="Slack",
    connection=VendorConnection(
        base_url="https://slack.com/api",
        credential="Bot token",
        credential_help="Slack: your app, OAuth & Permissions; it begins with xoxb-. Scope: "
        "chat:write; with channels:read and groups:read the channels of the settings are checked. "
        "Invite the bot to each channel that it should post to.",
        help_date=dt.date(2026, 11, 29),
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
        log_id=log_id,
    ),
)


def _channel(settings: Mapping[str, str], wanted: str) -> str:
    """The channel to post to.

    Raises ValidationFailure for a person, and for a channel that is not allowed.

    An empty list allows the default channel alone.
    """
    channel = _plain(wanted) or _plain(settings.get("default_channel", ""))
    allowed = _allowed_channels(settings)
    if DIRECT.fullmatch(channel):
        raise _invalid("must be a channel: direct messages are blocked")
    if not channel:
        raise _invalid("is required: no default channel is set")
    if channel not in allowed:
        raise _invalid(one_line(f"must be one of: {', '.join(allowed) or 'none yet'}"))
    # A bare name could be a person's; with the sign it is a channel's.
    return channel if CHANNEL_ID.fullmatch(channel) else f"#{channel}"


def _allowed_channels(settings: Mapping[str, str]) -> list[str]:
    named = [settings.get("default_channel", ""), *settings.get("allowed_channels", "").split(",")]
    return [name for name in dict.fromkeys(map(_plain, named)) if name]


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
