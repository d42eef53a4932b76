"""Turns with language models, over the wires of both providers."""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from agents import language_models
from agents.models import LanguageModel, SessionMessage, SessionTurn
from tests.agents import application, provider_server
from tests.agents.application import Application, permission, result, says, tool_rows
from tests.agents.provider_server import Call, Fails, Provider, Says, TextPart, Thought
from tests.agents.test_turns import WEATHER
from workspace import organizations
from workspace.models import User

pytestmark = pytest.mark.django_db

KEY = "sk-the-key-of-the-organization"
SEARCH = Call("c1", "search_docs", '{"query": "scopes"}')
SAMPLE = Call("c2", "setup_get_jwt_sample", '{"language": "python"}')
PLACE = Call("c3", "get_weather", '{"place": "Tokyo"}')
MIXED: dict[str, Any] = {
    "server_tools": {"search_docs": True, "setup_get_jwt_sample": False},
    "tools": [WEATHER],
}


@pytest.fixture(params=["anthropic", "openai"])
def provider(request: pytest.FixtureRequest, app: Application) -> Iterator[Provider]:
    """A model that the organization's agents use, in the wire of each provider."""
    with provider_server.serving(request.param) as served:
        add(app, served)
        yield served


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    from agents import providers  # noqa: PLC0415  loads the clients of providers

    monkeypatch.setattr(providers, "WAITS", (0.0, 0.0))


def add(app: Application, served: Provider, **given: Any) -> LanguageModel:
    row = LanguageModel(
        organization=app.organization,
        provider=served.kind,
        model="a-model",
        base_url=served.url,
        **{"input_price": Decimal(3), "output_price": Decimal(15)} | given,
    )
    language_models.seal_key(row, KEY)
    row.save()
    return row


def results_sent(provider: Provider, body: Any) -> list[str]:
    """The ids of calls whose results a request brought, in their order."""
    if provider.kind == "openai":
        return [one["tool_call_id"] for one in body["messages"] if one["role"] == "tool"]
    return [
        block["tool_use_id"]
        for message in body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]


def test_every_mode_gives_the_text_and_the_same_history(
    app: Application, provider: Provider
) -> None:
    provider.answers = [Says([TextPart("The sky is blue.")])]
    histories = []
    for stream in ("delta", "message", "none"):
        answer = app.create(stream=stream)
        assert answer.stop_reason == "end_turn"
        histories.append(app.history(answer.session_id))
        if stream == "delta":
            assert answer.names.count("text_delta") == 2
    assert histories[0] == histories[1] == histories[2]
    assert histories[0][-1] == {"role": "assistant", "content": "The sky is blue."}
    turn = SessionTurn.objects.first()
    assert turn is not None
    # 12 tokens at 3 dollars and 7 at 15 dollars a million.
    assert (turn.model, turn.input_tokens, turn.output_tokens) == ("a-model", 12, 7)
    assert turn.cost_micros == 12 * 3 + 7 * 15
    headers, body = provider.requests[0]
    assert KEY in (headers.get("x-api-key", "") + headers.get("authorization", ""))
    assert "documentation" in json.dumps(body).lower()


def test_calls_of_all_kinds_are_resolved_together(app: Application, provider: Provider) -> None:
    provider.answers = [
        Says([TextPart("One moment."), PLACE, SAMPLE, SEARCH], "calls"),
        Says([TextPart("It is sunny.")]),
    ]
    first = app.create(stream="message", **MIXED)
    assert first.names[2:] == ["text", *["tool_call"] * 3, "tool_result", "turn_stop"]
    assert first.stop_reason == "tool_use"
    second = app.turn(first.session_id, permission("c2", granted=False), result("c3"))
    assert second.stop_reason == "end_turn"
    assert results_sent(provider, provider.bodies[-1]) == ["c3", "c2", "c1"]
    assert list(tool_rows().values_list("tool", flat=True)) == ["search_docs"]


def test_arguments_that_are_no_object_are_answered_to_the_model(
    app: Application, provider: Provider
) -> None:
    provider.answers = [
        Says([Call("c1", "get_weather", '{"place": '), Call("c2", "get_weather", "[1]")], "calls"),
        Says([TextPart("Sorry.")]),
    ]
    answer = app.create(**MIXED)
    assert answer.stop_reason == "end_turn"
    results = [one["content"] for one in app.history(answer.session_id) if one["role"] == "tool"]
    assert results == ["The arguments are not a JSON object."] * 2


def test_equal_ids_of_calls_become_unique(app: Application, provider: Provider) -> None:
    same = Call("c1", "get_weather", '{"place": "Tokyo"}')
    provider.answers = [Says([same, same], "calls"), Says([TextPart("Sunny.")])]
    first = app.create(stream="message", **MIXED)
    made = [data["toolCallId"] for name, data in first.events if name == "tool_call"]
    assert len({*made}) == 2
    second = app.turn(first.session_id, *(result(one) for one in made))
    assert second.stop_reason == "end_turn"
    assert results_sent(provider, provider.bodies[-1]) == made


@pytest.mark.parametrize(
    ("parts", "stored"),
    [
        ([TextPart("Half a")], "Half a"),
        ([TextPart("I call"), Call("c1", "search_docs", '{"qu')], "I call"),
    ],
    ids=["text", "call"],
)
def test_the_limit_of_output_tokens_ends_the_turn(
    app: Application, provider: Provider, parts: Any, stored: str
) -> None:
    provider.answers = [Says(parts, "length")]
    answer = app.create(**MIXED)
    assert answer.stop_reason == "max_tokens"
    assert app.history(answer.session_id)[-1] == {"role": "assistant", "content": stored}
    assert not tool_rows().exists()


def test_a_refusal_of_the_model_is_one(app: Application, provider: Provider) -> None:
    provider.answers = [Says([], "refusal"), Says([TextPart("Gladly.")])]
    answer = app.create()
    assert answer.stop_reason == "refusal"
    assert app.turn(answer.session_id, says("And now?")).stop_reason == "end_turn"


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_request_that_failed_before_its_first_word_is_sent_again(
    app: Application, provider: Provider, status: int
) -> None:
    provider.answers = [Fails(status), Fails(status), Says([TextPart("Back.")])]
    answer = app.create()
    assert answer.stop_reason == "end_turn"
    assert len(provider.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_a_failure_has_a_sentence_and_nothing_of_the_provider(
    app: Application, provider: Provider, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    provider.answers = [Fails(status)]
    answer = app.create()
    assert answer.stop_reason == "error"
    turn = SessionTurn.objects.get()
    said = answer.text + turn.error + caplog.text
    assert "the-prompt" not in said
    assert "the-key" not in said
    assert turn.error
    provider.answers = [Says([TextPart("Back.")])]
    assert app.turn(answer.session_id, says("And now?")).stop_reason == "end_turn"


def test_a_stream_that_is_cut_ends_in_one_error(app: Application, provider: Provider) -> None:
    provider.answers = [
        Says([TextPart("Half a sentence.")], is_cut=True),
        Says([TextPart("Whole.")]),
    ]
    answer = app.create(stream="delta")
    assert answer.names.count("turn_stop") == 1
    assert answer.stop_reason == "error"
    assert len(provider.requests) == 1
    assert app.turn(answer.session_id, says("Again")).stop_reason == "end_turn"


def test_a_redirect_is_not_followed(app: Application, provider: Provider) -> None:
    provider.answers = [Fails(307, {"Location": f"{provider.url}/other"})]
    assert app.create().stop_reason == "error"
    assert len(provider.requests) == 1


def test_an_address_that_is_not_public_is_refused(
    app: Application, provider: Provider, settings: Any
) -> None:
    settings.HALO_AGENTS_PRIVATE_HOSTS = frozenset()
    answer = app.create()
    assert answer.stop_reason == "error"
    assert not provider.requests


@pytest.mark.parametrize("key", [KEY, ""], ids=["key", "blank"])
def test_keys_and_addresses_of_the_servers_environment_are_not_used(
    app: Application, provider: Provider, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "sk-of-the-server")
    for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    row = LanguageModel.objects.get()
    language_models.seal_key(row, key)
    row.save()
    assert app.create().stop_reason == "end_turn"
    ((headers, _body),) = provider.requests
    assert "sk-of-the-server" not in str(headers)


def test_another_organization_does_not_use_the_model(app: Application, provider: Provider) -> None:
    stranger = User.objects.create_user("stranger@example.com")
    other = application.with_key(organizations.create("Strangers", owner=stranger))
    assert other.create().stop_reason == "end_turn"
    assert not provider.requests
    assert app.create().stop_reason == "end_turn"
    assert len(provider.requests) == 1


def test_once_the_budget_of_the_day_is_used_up_no_turn_begins(
    app: Application, provider: Provider
) -> None:
    LanguageModel.objects.update(daily_budget=Decimal("0.01"))
    session_id = app.create().session_id
    SessionTurn.objects.update(cost_micros=10_000)
    answer = app.turn(session_id, says("And now?"))
    assert (answer.status, "budget" in answer.error) == (429, True)
    assert 0 < int(answer.headers["retry-after"]) <= 86_400
    assert len(provider.requests) == 1


def test_the_key_is_sealed_and_in_no_row(app: Application, provider: Provider) -> None:
    row = LanguageModel.objects.get()
    assert KEY.encode() not in bytes(row.sealed)
    assert language_models.key_of(row) == KEY
    app.create()
    assert KEY not in str(list(SessionMessage.objects.values_list("content", "state")))
    assert provider.requests


def test_thinking_goes_back_to_its_provider_with_its_signature(app: Application) -> None:
    with provider_server.serving("anthropic") as served:
        add(app, served)
        served.answers = [
            Says([Thought("Let me see.", "signed"), TextPart("Looking."), SEARCH], "calls"),
            Says([TextPart("Found.")]),
        ]
        answer = app.create(stream="message", server_tools={"search_docs": True})
        assert "thinking" in answer.names
        blocks = served.bodies[-1]["messages"][1]["content"]
        assert blocks[0] == {"type": "thinking", "thinking": "Let me see.", "signature": "signed"}
        # Another model gets the message without what only its provider can read.
        LanguageModel.objects.update(model="another-model")
        app.turn(answer.session_id, says("And now?"))
        kinds = [block["type"] for block in served.bodies[-1]["messages"][1]["content"]]
        assert kinds == ["text", "tool_use"]
