"""Options of an agent: what an admin declares, what an application sets, and what stays secret."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from agents import language_models
from agents.models import (
    AgentDefinition,
    AgentOption,
    LanguageModel,
    Session,
    SessionMessage,
    SessionTurn,
)
from audit.models import ActionExecution, SecurityEvent
from foundation import sealing
from foundation.admin_urls import page_url, row_url
from tests.agents import provider_server
from tests.agents.application import Application, says
from tests.agents.provider_server import Fails, Provider, Says, TextPart
from tests.agents.test_agents_in_admin import PAGE, form
from tests.drivers.shown_forms import save

pytestmark = pytest.mark.django_db
OUR_KEY = "sk-key-of-the-organization"
KEY = "sk-key-of-the-application"
LANGUAGE = {"name": "language", "title": "Language", "type": "text", "default": "English"}
TONE = {
    "name": "tone",
    "title": "Tone",
    "type": "select",
    "choices": "short\n\n friendly \n",
    "default": "short",
}
OWN_KEY = {"name": "api_key", "title": "API key", "type": "secret"}


def rows(*options: dict[str, str]) -> dict[str, str]:
    """The form of an agent's options."""
    found = {"options-TOTAL_FORMS": str(len(options)), "options-INITIAL_FORMS": "0"}
    for number, option in enumerate(options):
        found |= {f"options-{number}-{name}": value for name, value in option.items()}
    return found


def define(browser: Client, app: Application, *options: dict[str, str]) -> AgentDefinition:
    answer = browser.post(f"{PAGE}add/", form(app, **rows(*options)))
    assert answer.status_code == 302, answer.context["errors"]
    return AgentDefinition.objects.get(organization=app.organization)


@pytest.fixture(params=["anthropic", "openai"])
def provider(request: pytest.FixtureRequest, app: Application) -> Iterator[Provider]:
    """A language model with a key of the organization and a budget."""
    with provider_server.serving(request.param) as served:
        row = LanguageModel(
            organization=app.organization,
            provider=served.kind,
            model="a-model",
            base_url=served.url,
            input_price=1_000_000,
            daily_budget=1,
        )
        language_models.seal_key(row, OUR_KEY)
        row.save()
        yield served


def options_of(app: Application, session_id: str) -> Any:
    return app.send("GET", f"/session/{session_id}").json["agent"]["options"]


def keys_sent(provider: Provider) -> list[str]:
    return [headers["authorization"].removeprefix("Bearer ") for headers, _ in provider.requests]


def everything_stored() -> str:
    """All rows of sessions, of what was said in them, and of what was recorded."""
    kept = (Session, SessionTurn, SessionMessage, ActionExecution, SecurityEvent)
    return "\n".join(str(list(model._default_manager.values())) for model in kept)


def test_meta_lists_what_an_admin_has_declared(browser: Client, app: Application) -> None:
    define(browser, app, LANGUAGE, TONE, OWN_KEY)
    agents = {agent["name"]: agent for agent in app.send("GET", "/meta").json["agents"]}
    options = {option["name"]: option for option in agents["support-agent"]["options"]}
    assert options["language"] == {**LANGUAGE, "description": ""}
    assert options["tone"]["options"] == ["short", "friendly"]
    assert options["api_key"] == {**OWN_KEY, "description": "", "default": ""}


def test_the_model_reads_texts_and_choices_and_no_key(
    browser: Client, app: Application, provider: Provider
) -> None:
    define(browser, app, LANGUAGE, TONE, OWN_KEY)
    given = {"language": 'Japanese"\n- tone: "rude', "api_key": KEY}
    session_id = app.create(agent="support-agent", options=given).session_id
    sent = json.dumps(provider.requests[-1][1])
    assert "Be short." in sent
    assert sent.count("- tone: ") == 2  # one of them within the quoted language
    assert KEY not in sent
    assert "quotes" not in sent
    app.turn(session_id, says("And now?"), agent={"options": {"tone": "friendly"}})
    assert "friendly" in json.dumps(provider.requests[-1][1])
    assert options_of(app, session_id)["tone"] == "friendly"


def test_a_key_of_the_application_is_used_and_the_organization_s_never_is(
    browser: Client, app: Application, provider: Provider
) -> None:
    define(browser, app, OWN_KEY)
    session_id = app.create(agent="support-agent", options={"api_key": KEY}).session_id
    app.turn(session_id, says("And now?"))
    app.turn(session_id, says("And now?"), agent={"options": {"api_key": "***"}})
    app.turn(session_id, says("And now?"), agent={"options": {"api_key": "sk-another"}})
    assert keys_sent(provider) == [KEY, KEY, KEY, "sk-another"]


@pytest.mark.parametrize("options", [{}, {"api_key": ""}, {"api_key": "***"}])
def test_without_a_key_nothing_is_asked_and_nothing_stored(
    browser: Client, app: Application, provider: Provider, options: dict[str, str]
) -> None:
    define(browser, app, OWN_KEY)
    answer = app.create(agent="support-agent", options=options)
    assert (answer.status, "agent.options.api_key" in answer.error) == (400, True)
    assert provider.requests == []
    assert not Session.objects.exists()


def test_an_empty_key_removes_the_one_that_was_set(
    browser: Client, app: Application, provider: Provider
) -> None:
    define(browser, app, OWN_KEY)
    session_id = app.create(agent="support-agent", options={"api_key": KEY}).session_id
    empty = {"options": {"api_key": ""}}
    assert app.turn(session_id, says("And now?"), agent=empty).status == 400
    # A request that was refused has changed nothing.
    assert app.turn(session_id, says("And now?")).status == 200
    LanguageModel.objects.update(is_used=False)
    assert app.turn(session_id, says("And now?"), agent=empty).status == 200
    assert options_of(app, session_id)["api_key"] == ""
    LanguageModel.objects.update(is_used=True)
    assert app.turn(session_id, says("And now?")).status == 400
    assert keys_sent(provider) == [KEY, KEY]


@pytest.mark.parametrize("stream", ["none", "delta"])
def test_a_key_is_in_no_answer_row_or_log(
    browser: Client,
    app: Application,
    provider: Provider,
    capfd: pytest.CaptureFixture[str],
    stream: str,
) -> None:
    define(browser, app, OWN_KEY)
    provider.answers = [Says([TextPart("Hello.")]), Fails(401)]
    first = app.create(agent="support-agent", options={"api_key": KEY}, stream=stream)
    session_id = first.session_id
    second = app.turn(session_id, says("And now?"), stream=stream)
    assert second.stop_reason == "error"
    whole = app.send("GET", f"/session/{session_id}")
    assert whole.json["agent"]["options"]["api_key"] == "***"
    output = capfd.readouterr()
    for text in (first.text, second.text, whole.text, everything_stored(), *output):
        assert KEY not in text
    page = browser.get(page_url("agents_session_change", session_id))
    assert (page.status_code, KEY in page.content.decode()) == (200, False)


@pytest.mark.parametrize(
    "value", ["sk-\nx", "sk with blanks", "schlüssel", f"{KEY}{'x' * 10_000}", [KEY], {KEY: 1}]
)
def test_an_unusable_key_is_refused_and_not_repeated(
    browser: Client, app: Application, provider: Provider, value: Any
) -> None:
    define(browser, app, OWN_KEY)
    answer = app.create(agent="support-agent", options={"api_key": value})
    assert (answer.status, "agent.options.api_key" in answer.error) == (400, True)
    assert KEY not in answer.error
    assert provider.requests == []


def test_turns_with_an_own_key_do_not_use_the_budget(
    browser: Client, app: Application, provider: Provider
) -> None:
    define(browser, app, OWN_KEY)
    own = {"agent": "support-agent", "options": {"api_key": KEY}}
    for _turn in range(2):
        assert app.create(**own).status == 201
    turn = SessionTurn.objects.latest("pk")
    assert (turn.has_own_key, turn.cost_micros > 1_000_000) == (True, True)
    assert app.create(agent="ask-ai").status == 201
    assert keys_sent(provider)[-1] == OUR_KEY
    assert app.create(agent="ask-ai").status == 429
    assert app.create(**own).status == 201


def test_a_key_is_asked_for_again_once_it_cannot_be_read(
    browser: Client, app: Application, provider: Provider, settings: Any
) -> None:
    define(browser, app, OWN_KEY)
    session_id = app.create(agent="support-agent", options={"api_key": KEY}).session_id
    settings.HALO_SEALING_KEYS = [sealing.new_key()]
    assert app.turn(session_id, says("And now?")).status == 400
    again = {"options": {"api_key": KEY}}
    assert app.turn(session_id, says("And now?"), agent=again).status == 200
    assert app.turn(session_id, says("And now?")).status == 200
    assert keys_sent(provider) == [KEY, KEY, KEY]


def test_a_key_outlives_the_change_of_the_sealing_key(
    browser: Client, app: Application, provider: Provider, settings: Any
) -> None:
    define(browser, app, OWN_KEY)
    session_id = app.create(agent="support-agent", options={"api_key": KEY}).session_id
    new = sealing.new_key()
    settings.HALO_SEALING_KEYS = [new, *settings.HALO_SEALING_KEYS]
    call_command("reseal")
    settings.HALO_SEALING_KEYS = [new]
    row = LanguageModel.objects.get()
    assert language_models.key_of(row) == OUR_KEY
    assert app.turn(session_id, says("And now?")).status == 200
    assert keys_sent(provider) == [KEY, KEY]


def test_what_was_a_text_is_not_shown_once_it_is_a_secret(
    browser: Client, app: Application
) -> None:
    row = define(browser, app, {"name": "token", "title": "Token", "type": "text"})
    session_id = app.create(agent="support-agent", options={"token": KEY}).session_id
    AgentOption.objects.get(agent=row).delete()
    AgentOption.objects.create(agent=row, name="token", title="Token", type="secret")
    assert options_of(app, session_id)["token"] == "***"


def test_name_and_type_of_an_option_are_fixed(browser: Client, app: Application) -> None:
    row = define(browser, app, LANGUAGE)
    option = AgentOption.objects.get()
    changed = {**LANGUAGE, "id": str(option.pk), "name": "other", "type": "secret", "title": "New"}
    given = form(app, **rows(changed)) | {"options-INITIAL_FORMS": "1"}
    assert save(browser, row_url(row), given).status_code == 302
    option.refresh_from_db()
    assert (option.name, option.type, option.title) == ("language", "text", "New")
    event = SecurityEvent.objects.latest("pk")
    assert event.detail == "support-agent: options"


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ([LANGUAGE | {"name": "quotes"}], "name"),
        ([LANGUAGE | {"name": "Language"}], "name"),
        ([LANGUAGE | {"type": "number"}], "type"),
        ([LANGUAGE | {"choices": "a\nb"}], "choices"),
        ([TONE | {"choices": " \n"}], "choices"),
        ([TONE | {"default": ""}], "default"),
        ([OWN_KEY | {"default": "sk-key"}], "default"),
    ],
    ids=lambda given: str(given)[:60],
)
def test_an_option_that_cannot_be_is_an_error_of_its_field(
    browser: Client, app: Application, options: list[dict[str, str]], field: str
) -> None:
    answer = browser.post(f"{PAGE}add/", form(app, **rows(*options)))
    assert answer.status_code == 200
    [formset] = answer.context["inline_admin_formsets"]
    assert {*formset.formset.errors[0]} == {field}
    assert not AgentDefinition.objects.exists()


@pytest.mark.parametrize("twice", [LANGUAGE, OWN_KEY])
def test_two_options_of_a_name_or_two_keys_cannot_be(
    browser: Client, app: Application, twice: dict[str, str]
) -> None:
    other = twice if twice is LANGUAGE else OWN_KEY | {"name": "another_key"}
    answer = browser.post(f"{PAGE}add/", form(app, **rows(twice, other)))
    assert answer.status_code == 200
    assert not AgentDefinition.objects.exists()
