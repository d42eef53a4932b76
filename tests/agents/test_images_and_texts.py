"""Images and texts that applications send: what no model could read is refused, and not stored."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from agents.models import AgentDefinition, Session, SessionMessage
from tests.agents import provider_server
from tests.agents.application import AgentAnswer, Application, permission, result, says
from tests.agents.provider_server import Call, Provider, Says, TextPart
from tests.agents.scripted import Script
from tests.agents.test_language_models import add
from tests.agents.test_turns import WEATHER, start

pytestmark = pytest.mark.django_db

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(16)).decode()
IMAGE = {"type": "image", "url": f"data:image/png;base64,{PNG}"}
FORMER = {"type": "image", "mimeType": "image/png", "data": PNG}
SEEING = "seeing"


@pytest.fixture
def seeing(app: Application) -> str:
    """An agent of the organization whose model reads images."""
    AgentDefinition.objects.create(
        organization=app.organization,
        name=SEEING,
        title="Seeing",
        instructions="Look.",
        reads_images=True,
    )
    return SEEING


@pytest.fixture(params=["anthropic", "openai"])
def provider(request: pytest.FixtureRequest, app: Application) -> Iterator[Provider]:
    with provider_server.serving(request.param) as served:
        add(app, served)
        yield served


def show(app: Application, *blocks: Any, agent: str = SEEING, **given: Any) -> AgentAnswer:
    return app.create(agent=agent, messages=[{"role": "user", "content": list(blocks)}], **given)


@pytest.mark.usefixtures("seeing")
@pytest.mark.parametrize(
    ("block", "said"),
    [
        ({"url": "data:nonsense"}, "data:<media type>;base64"),
        ({"url": "data:image/png;base64,***"}, "not valid base64"),
        ({"url": f"data:image/jpeg;base64,{PNG}"}, "not of the type image/jpeg"),
        ({"url": f"data:text/html;base64,{PNG}"}, "media type must be one of: image/png"),
        ({"mimeType": "image/gif", "data": PNG}, "not of the type image/gif"),
        ({"mimeType": "image/png"}, "has a url, or mimeType and data"),
        ({"url": "ftp://images.example.com/a.png"}, "must be https: or data:"),
        ({"url": "http://images.example.com/a.png"}, "must be https: or data:"),
        ({"url": "https://169.254.169.254/latest"}, "public internet"),
        ({"url": "https://"}, "public internet"),
        ({"url": 7}, "messages[0].content[1].url"),
    ],
)
def test_an_image_that_no_model_can_read_is_refused(
    app: Application, block: dict[str, Any], said: str
) -> None:
    answer = show(app, {"type": "text", "text": "Look"}, {"type": "image"} | block)
    assert (answer.status, said in answer.error) == (400, True), answer.error
    assert "messages[0].content[1]" in answer.error
    assert not Session.objects.exists()


def test_images_are_for_agents_that_declare_them(
    app: Application, script: Script, seeing: str
) -> None:
    agents = {one["name"]: one for one in app.send("GET", "/meta").json["agents"]}
    assert agents[seeing]["capabilities"]["image"] == {"http": {}, "data": {}}
    assert "image" not in agents["scripted"]["capabilities"]
    session_id = start(app).session_id
    refused = app.turn(session_id, {"role": "user", "content": [IMAGE]})
    assert (refused.status, "reads no images" in refused.error) == (400, True)
    assert show(app, IMAGE, agent="scripted").status == 400
    assert len(script.requests) == 1


@pytest.mark.usefixtures("seeing")
@pytest.mark.parametrize("block", [IMAGE, FORMER], ids=["url", "data"])
def test_an_image_reaches_the_model(app: Application, provider: Provider, block: Any) -> None:
    answer = show(app, {"type": "text", "text": "What is it?"}, block)
    assert answer.stop_reason == "end_turn"
    assert PNG in json.dumps(provider.bodies[-1])
    assert app.history(answer.session_id)[0]["content"][1] == block


@pytest.mark.usefixtures("seeing")
def test_an_image_in_a_result_reaches_the_model(app: Application, provider: Provider) -> None:
    provider.answers = [
        Says([Call("c3", "get_weather", '{"place": "Tokyo"}')], "calls"),
        Says([TextPart("It rains.")]),
    ]
    session_id = app.create(agent=SEEING, tools=[WEATHER]).session_id
    shown = [{"type": "text", "text": "The radar:"}, IMAGE]
    assert app.turn(session_id, result("c3", shown)).stop_reason == "end_turn"
    sent = json.dumps(provider.bodies[-1])
    assert ("The radar:" in sent, PNG in sent) == (True, True)


def test_a_session_with_an_unreadable_image_from_earlier_goes_on(
    app: Application, provider: Provider
) -> None:
    session_id = app.create("Look").session_id
    broken = {"role": "user", "content": [{"type": "image", "url": "data:nonsense"}]}
    SessionMessage.objects.filter(session=session_id, position=0).update(content=broken)
    assert app.turn(session_id, says("And now?")).stop_reason == "end_turn"
    assert "was left out" in json.dumps(provider.bodies[-1])
    assert app.history(session_id)[0] == broken


@pytest.mark.usefixtures("seeing")
def test_images_are_left_out_once_the_agent_reads_none(
    app: Application, provider: Provider
) -> None:
    session_id = show(app, IMAGE).session_id
    AgentDefinition.objects.filter(name=SEEING).update(reads_images=False)
    assert app.turn(session_id, says("And now?")).stop_reason == "end_turn"
    sent = json.dumps(provider.bodies[-1])
    assert ("was left out" in sent, PNG in sent) == (True, False)


def test_the_content_of_a_permission_is_left_unread(app: Application, script: Script) -> None:
    del script
    given = {**permission("c1"), "content": [{"type": "text", "text": "x"}]}
    session_id = app.create("Look", agent="scripted").session_id
    answer = app.turn(session_id, given)
    assert (answer.status, "c1" in answer.error) == (400, True)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "messages[0].content must not be blank"),
        (" \n", "messages[0].content must not be blank"),
        ([], "messages[0].content"),
        ([{"type": "text", "text": " "}], "messages[0].content[0].text must not be blank"),
        (
            [{"type": "file", "url": "a"}],
            "messages[0].content[0].type must be one of: text, image.",
        ),
        ([{"type": ["text"]}], "messages[0].content[0].type must be one of: text, image."),
        ([7], "messages[0].content[0]"),
    ],
)
def test_a_text_or_block_that_says_nothing_is_refused_by_name(
    app: Application, script: Script, content: Any, said: str
) -> None:
    answer = app.create(agent="scripted", messages=[{"role": "user", "content": content}])
    assert (answer.status, said in answer.error) == (400, True), answer.error
    assert "schemas listed" not in answer.error
    assert not Session.objects.exists()
    assert script.requests == []
