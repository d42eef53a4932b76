"""The scope grammar by example: what is read, what is dropped, what implies what."""

import pytest

from oauth import scopes
from oauth.errors import InvalidScope

PROJECT = "prj_" + "a" * 22


@pytest.mark.parametrize(
    "text",
    [
        "docs:read",
        "setup:read data:read",
        "actions:*",
        "actions:hubspot:*",
        "actions:hubspot:create_deal",
        "actions:mcp.crm:*",
        "actions:mcp.crm:listUsers.v2-beta",
        "data:read docs:read actions:linear:create_bug",
    ],
)
def test_a_recognised_scope_survives_as_it_was_written(text: str) -> None:
    assert str(scopes.parse(text)) == text


@pytest.mark.parametrize(
    "token",
    [
        "bogus",
        "admin:root",
        "../../x",
        "*",
        "docs:*",
        "docs:write",
        "Docs:read",
        "docs:read:all",
        "actions",
        "actions:",
        "actions::",
        "actions:hubspot",
        "actions:hubspot:",
        "actions:*:*",
        "actions:*:create_deal",
        "actions:HubSpot:*",
        "actions:hubspot:Create_Deal",
        "actions:hubspot:create_deal:x",
        "actions:hub*:*",
        "actions:hubspot:create_*",
        "actions:2fast:*",
        "actions:mcp.:*",
        "actions:mcp.CRM:*",
        "actions:mcp.a.b:*",
        f"actions:mcp.{'a' * 33}:*",
        f"actions:{'a' * 65}:*",
        f"actions:hubspot:{'a' * 65}",
        "actions:xmcp.crm:*",
        "docs:read\n",
        "docs:read\tdata:read",
        "docs:read\0data:read",
        "docs:read\u00a0",
        "docs:reаd",  # noqa: RUF001  a Cyrillic letter is the point
        "offline_access",
    ],
)
def test_a_word_outside_the_grammar_is_dropped_without_an_error(token: str) -> None:
    granted = scopes.parse(f"setup:read {token} data:read")
    assert str(granted) == "setup:read data:read"
    assert not scopes.parse("actions:*").covers(token)


def test_the_unknown_half_of_a_request_disappears_and_the_order_stays() -> None:
    asked = scopes.parse("docs:read bogus  actions:hubspot:create_deal docs:read ")
    assert str(asked) == "docs:read actions:hubspot:create_deal"
    assert len(asked) == 2


def test_eight_kilobytes_are_read_and_one_character_more_is_refused() -> None:
    text = "docs:read ".ljust(scopes.MAX_TEXT, "x")
    assert str(scopes.parse(text)) == "docs:read"
    with pytest.raises(scopes.ScopeTooLong) as refused:
        scopes.parse(text + "x")
    assert refused.value.code == "invalid_scope"


@pytest.mark.parametrize(
    ("held", "required", "verdict"),
    [
        ("actions:*", "docs:read", True),
        ("actions:*", "setup:read", True),
        ("actions:*", "data:read", True),
        ("actions:*", "actions:hubspot:*", True),
        ("actions:*", "actions:hubspot:create_deal", True),
        ("actions:*", "actions:mcp.crm:listUsers", True),
        ("actions:hubspot:*", "actions:hubspot:create_deal", True),
        ("actions:mcp.crm:*", "actions:mcp.crm:find", True),
        ("docs:read", "docs:read", True),
        ("actions:hubspot:*", "actions:*", False),
        ("actions:hubspot:*", "docs:read", False),
        ("actions:hubspot:*", "setup:read", False),
        ("actions:hubspot:*", "data:read", False),
        ("actions:hubspot:*", "actions:linear:create_bug", False),
        ("actions:hubspot:*", "actions:hubspot_eu:create_deal", False),
        ("actions:hubspot:create_deal", "actions:hubspot:create_deals", False),
        ("actions:hubspot:create_deal", "actions:hubspot:*", False),
        ("actions:mcp:*", "actions:mcp.crm:find", False),
        ("data:read docs:read setup:read", "actions:hubspot:create_deal", False),
        ("data:read docs:read setup:read", "actions:*", False),
        ("", "docs:read", False),
        ("docs:read data:read", "docs:read data:read", False),
    ],
)
def test_implication_follows_the_scopes_document(held: str, required: str, verdict: bool) -> None:  # noqa: FBT001  the table's verdict
    assert scopes.parse(held).covers(required) is verdict


@pytest.mark.parametrize(
    ("token", "authorization", "effective"),
    [
        ("actions:* data:read", "actions:* data:read", "actions:* data:read"),
        ("actions:*", "docs:read actions:hubspot:*", "docs:read actions:hubspot:*"),
        ("actions:hubspot:create_deal", "actions:hubspot:*", "actions:hubspot:create_deal"),
        ("actions:hubspot:*", "actions:linear:*", ""),
        ("actions:hubspot:*", "data:read", ""),
        ("docs:read", "", ""),
    ],
)
def test_the_effective_scope_is_what_token_and_authorization_both_grant(
    token: str, authorization: str, effective: str
) -> None:
    assert str(scopes.parse(token).intersect(scopes.parse(authorization))) == effective


@pytest.mark.parametrize(
    ("held", "asked"),
    [
        ("actions:*", "actions:hubspot:*"),
        ("actions:*", "data:read"),
        ("actions:hubspot:*", "actions:hubspot:create_deal"),
    ],
)
def test_a_refresh_may_narrow_by_meaning(held: str, asked: str) -> None:
    assert str(scopes.parse(held).narrow(scopes.parse(asked))) == asked


@pytest.mark.parametrize(
    ("held", "asked", "culprit"),
    [
        ("actions:hubspot:create_deal", "actions:hubspot:*", "actions:hubspot:*"),
        ("actions:hubspot:*", "actions:*", "actions:*"),
        ("actions:hubspot:*", "actions:hubspot:create_deal data:read", "data:read"),
    ],
)
def test_a_refresh_never_widens_and_the_refusal_names_the_scope(
    held: str, asked: str, culprit: str
) -> None:
    with pytest.raises(scopes.ScopeNotCovered) as refused:
        scopes.parse(held).narrow(scopes.parse(asked))
    assert str(refused.value.scope) == culprit
    assert culprit in refused.value.hint
    assert refused.value.code == "invalid_scope"


def test_narrowing_to_nothing_known_is_an_invalid_scope() -> None:
    with pytest.raises(InvalidScope, match="None of the requested scopes"):
        scopes.parse("actions:*").narrow(scopes.parse("actions:hub*"))


def test_the_scope_of_a_tool_is_built_from_its_project_and_its_name() -> None:
    assert str(scopes.for_project(PROJECT, "list_books")) == f"projects:{PROJECT}:list_books"
    assert scopes.for_project(PROJECT).project == PROJECT


@pytest.mark.parametrize(
    ("project", "tool"),
    [("prj_short", "x"), ("*", "x"), (f"{PROJECT}:x", "x"), ("", ""), (PROJECT, "a b")],
)
def test_names_outside_the_grammar_make_no_scope(project: str, tool: str) -> None:
    with pytest.raises(ValueError, match="no scope can name"):
        scopes.for_project(project, tool)


def test_discovery_advertises_the_scopes_that_every_workspace_knows() -> None:
    assert [str(scope) for scope in scopes.SUPPORTED] == [
        "docs:read",
        "setup:read",
        "data:read",
        "actions:*",
    ]


def test_every_advertised_scope_has_plain_words_of_its_own() -> None:
    described = [scopes.describe(scope) for scope in scopes.SUPPORTED]
    assert [words.kind for words in described] == ["read", "read", "read", "act"]
    assert len({words.title for words in described}) == len(described)
    assert all(words.sentence.endswith(".") for words in described)


def test_an_action_is_described_under_the_name_people_know() -> None:
    (scope,) = scopes.parse("actions:hubspot:create_deal")
    words = scopes.describe(scope, {"hubspot": "HubSpot"})
    assert words == ("HubSpot: create deal", "Run the one action “create deal” in HubSpot.", "act")


def test_an_integration_without_a_display_name_is_spelled_out() -> None:
    drive, crm = scopes.parse("actions:google_drive:* actions:mcp.crm:*")
    assert scopes.describe(drive).title == "Act in Google Drive"
    assert scopes.describe(crm).title == "Act in Crm"
