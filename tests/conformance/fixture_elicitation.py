"""The suite's tools that ask the person or the client before they answer.

A round that asks ends the call; the tool runs again with the answers, and with the state that it
sent along. Keys, messages and forms are the suite's.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from tests.conformance.fixture_content import NOTHING, text
from tools_registry.api import Arguments, Blocks, ToolContext, Toolset

ASKING: Final = Toolset(scope="docs:read", title="Conformance: asking")
STRING: Final = {"type": "string"}
ROOTS: Final[dict[str, Any]] = {"method": "roots/list", "params": {}}
OPTIONS: Final = ["option1", "option2", "option3"]


def schema(*required: str, **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def taking(name: str) -> dict[str, Any]:
    line = {**STRING, "maxLength": 1000}
    return schema(name, **{name: line}) | {"additionalProperties": False}


def form(message: str, requested: Mapping[str, Any]) -> dict[str, Any]:
    params = {"message": message, "requestedSchema": dict(requested)}
    return {"method": "elicitation/create", "params": params}


def sampling(prompt: str, most: int) -> dict[str, Any]:
    message = {"role": "user", "content": text(prompt)}
    return {
        "method": "sampling/createMessage",
        "params": {"messages": [message], "maxTokens": most},
    }


def choices(*titles: str) -> list[dict[str, str]]:
    return [{"const": f"value{place}", "title": title} for place, title in enumerate(titles, 1)]


def describe_answer(answer: Mapping[str, Any]) -> str:
    """What the person did, and filled in if anything."""
    content = json.dumps(answer.get("content", {}))
    return f"action={answer['action']}, content={content}"


NAME: Final = form("What is your name?", schema("name", name=STRING))
CONFIRM: Final = form("Please confirm", schema("ok", ok={"type": "boolean"}))


@ASKING.tool(
    title="Sampling", description="Asks the client's model.", input_schema=taking("prompt")
)
def test_sampling(context: ToolContext, arguments: Arguments) -> Blocks:
    answers = context.ask({"reply": sampling(arguments["prompt"], 100)})
    return Blocks([text(f"LLM response: {answers['reply']['content']['text']}")])


@ASKING.tool(title="Form", description="Asks the person.", input_schema=taking("message"))
def test_elicitation(context: ToolContext, arguments: Arguments) -> Blocks:
    wanted = schema(
        "username",
        "email",
        username=STRING | {"description": "User's response"},
        email=STRING | {"description": "User's email address"},
    )
    answers = context.ask({"person": form(arguments["message"], wanted)})
    return Blocks([text(f"User response: {describe_answer(answers['person'])}")])


@ASKING.tool(title="Defaults", description="Asks with defaults.", input_schema=NOTHING)
def test_elicitation_sep1034_defaults(context: ToolContext, _arguments: Arguments) -> Blocks:
    status = STRING | {"enum": ["active", "inactive", "pending"], "default": "active"}
    wanted = schema(
        name=STRING | {"default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status=status,
        verified={"type": "boolean", "default": True},
    )
    answers = context.ask({"person": form("Please look through these values", wanted)})
    return Blocks([text(f"Elicitation completed: {describe_answer(answers['person'])}")])


@ASKING.tool(title="Choices", description="Asks with choices.", input_schema=NOTHING)
def test_elicitation_sep1330_enums(context: ToolContext, _arguments: Arguments) -> Blocks:
    legacy = {
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    }
    titled = choices("First Option", "Second Option", "Third Option")
    several = choices("First Choice", "Second Choice", "Third Choice")
    wanted = schema(
        untitledSingle=STRING | {"enum": OPTIONS},
        titledSingle=STRING | {"oneOf": titled},
        legacyEnum=STRING | legacy,
        untitledMulti={"type": "array", "items": STRING | {"enum": OPTIONS}},
        titledMulti={"type": "array", "items": {"anyOf": several}},
    )
    answers = context.ask({"person": form("Please choose", wanted)})
    return Blocks([text(f"Elicitation completed: {describe_answer(answers['person'])}")])


@ASKING.tool(
    title="Missing capability",
    description="Needs sampling, and says so to a client without it.",
    input_schema=NOTHING,
)
def test_missing_capability(context: ToolContext, _arguments: Arguments) -> Blocks:
    context.ask({"reply": sampling("Are you there?", 10)})
    return Blocks([text("The client could be asked.")])


@ASKING.tool(
    title="Streamed form",
    description="Asks the person in the middle of a stream.",
    input_schema=NOTHING,
    streams=True,
)
def test_streaming_elicitation(context: ToolContext, _arguments: Arguments) -> Blocks:
    context.progress(0, 1, "about to ask")
    context.ask({"user_name": NAME})
    return Blocks([text("The person has answered.")])


@ASKING.tool(title="Ask the person", description="Asks a name.", input_schema=NOTHING)
def test_input_required_result_elicitation(context: ToolContext, _arguments: Arguments) -> Blocks:
    answers = context.ask({"user_name": NAME})
    return Blocks([text(f"Hello, {name_in(answers['user_name'])}!")])


@ASKING.tool(title="Ask the model", description="Asks the model.", input_schema=NOTHING)
def test_input_required_result_sampling(context: ToolContext, _arguments: Arguments) -> Blocks:
    answers = context.ask({"capital_question": sampling("What is the capital of France?", 100)})
    return Blocks([text(answers["capital_question"]["content"]["text"])])


@ASKING.tool(title="Ask for roots", description="Asks for roots.", input_schema=NOTHING)
def test_input_required_result_list_roots(context: ToolContext, _arguments: Arguments) -> Blocks:
    answers = context.ask({"client_roots": ROOTS})
    return Blocks([text(f"Roots: {roots_in(answers['client_roots'])}")])


@ASKING.tool(title="Keep a state", description="Gets its state back.", input_schema=NOTHING)
def test_input_required_result_request_state(context: ToolContext, _arguments: Arguments) -> Blocks:
    context.ask({"confirm": CONFIRM}, state={"asked": "confirm"})
    word = "state-ok" if context.state == {"asked": "confirm"} else "state-lost"
    return Blocks([text(word)])


@ASKING.tool(title="Ask thrice", description="Asks all three.", input_schema=NOTHING)
def test_input_required_result_multiple_inputs(
    context: ToolContext, _arguments: Arguments
) -> Blocks:
    asked = {
        "user_name": NAME,
        "greeting": sampling("Generate a greeting", 50),
        "client_roots": ROOTS,
    }
    answers = context.ask(asked, state={"asked": sorted(asked)})
    greeting = answers["greeting"]["content"]["text"]
    name, roots = name_in(answers["user_name"]), roots_in(answers["client_roots"])
    return Blocks([text(f"{greeting} {name}: {roots}")])


@ASKING.tool(title="Two rounds", description="Asks one after another.", input_schema=NOTHING)
def test_input_required_result_multi_round(context: ToolContext, _arguments: Arguments) -> Blocks:
    known = context.state or {"round": 1}
    if known["round"] == 1:
        step = form("Step 1: What is your name?", schema("name", name=STRING))
        first = context.ask({"step1": step}, state={"round": 1})
        known = {"round": 2, "name": name_in(first["step1"])}
    colour = form("Step 2: What is your favorite color?", schema("color", color=STRING))
    second = context.ask({"step2": colour}, state=known)
    return Blocks([text(f"{known['name']} likes {second['step2']['content']['color']}.")])


@ASKING.tool(title="Sealed state", description="Its state is sealed.", input_schema=NOTHING)
def test_input_required_result_tampered_state(
    context: ToolContext, _arguments: Arguments
) -> Blocks:
    context.ask({"confirm": CONFIRM}, state={"asked": "confirm"})
    return Blocks([text("The state came back as it went.")])


@ASKING.tool(
    title="Ask as the client can",
    description="Asks the person, or the model where the client cannot ask the person.",
    input_schema=NOTHING,
)
def test_input_required_result_capabilities(context: ToolContext, _arguments: Arguments) -> Blocks:
    if "elicitation" in context.client_capabilities:
        context.ask({"user_name": NAME})
    elif "sampling" in context.client_capabilities:
        context.ask({"greeting": sampling("Generate a greeting", 50)})
    return Blocks([text("ElicitationClient as far as could be.")])


def name_in(answer: Mapping[str, Any]) -> str:
    return str(answer.get("content", {}).get("name", "whoever you are"))


def roots_in(answer: Mapping[str, Any]) -> str:
    return ", ".join(root["uri"] for root in answer["roots"])
