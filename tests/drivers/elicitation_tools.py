"""Tools for tests that use elicitation, sampling or roots before they answer."""

from collections.abc import Mapping
from typing import Any

from tests.drivers.fixture_tools import NOTHING, TEXT, schema
from tools_registry.api import (
    Arguments,
    Facts,
    PromptMessage,
    ResourceBody,
    ToolContext,
    Toolset,
    text_message,
)

ASKING = Toolset(scope="docs:read", title="Asking")

NAME = {"name": TEXT}
SAMPLING = {
    "method": "sampling/createMessage",
    "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Which capital?"}}],
        "maxTokens": 10,
    },
}
ROOTS = {"method": "roots/list"}


def form(message: str, **fields: Any) -> dict[str, Any]:
    wanted = {"type": "object", "properties": fields, "required": list(fields)}
    params = {"mode": "form", "message": message, "requestedSchema": wanted}
    return {"method": "elicitation/create", "params": params}


@ASKING.tool(title="Greet", description="Asks a name.", input_schema=schema(word=TEXT))
def greet(context: ToolContext, arguments: Arguments) -> Facts:
    filled = context.ask_form("person", "Who are you?", NAME)
    return Facts({"greeting": f"{arguments.get('word', 'Hello')}, {filled['name']}"})


@ASKING.tool(
    title="Publish",
    description="Asks before it changes something.",
    input_schema=schema(what=TEXT),
    mutates=True,
)
def publish(context: ToolContext, arguments: Arguments) -> Facts:
    fields = {"sure": {"type": "boolean"}, "note": TEXT}
    filled = context.ask_form("sure", "Publish it?", fields, optional=("note",))
    return Facts({"published": arguments.get("what", ""), **filled})


@ASKING.tool(
    title="Credit",
    description="Asks before it changes something for a customer.",
    input_schema=NOTHING,
    mutates=True,
)
def credit(context: ToolContext, _arguments: Arguments) -> Facts:
    context.ask_form("sure", "Credit it?", {"sure": {"type": "boolean"}})
    return Facts({"credited": context.customer.id if context.customer else None})


@ASKING.tool(title="Two rounds", description="Asks one after another.", input_schema=NOTHING)
def two_rounds(context: ToolContext, _arguments: Arguments) -> Facts:
    first = context.ask_form("first", "Your name?", NAME)
    second = context.ask_form("second", f"Your colour, {first['name']}?", {"colour": TEXT})
    return Facts({**first, **second})


@ASKING.tool(title="Three at once", description="Asks all three.", input_schema=NOTHING)
def three_at_once(context: ToolContext, _arguments: Arguments) -> Facts:
    asked = {"person": form("Who?", name=TEXT), "model": SAMPLING, "roots": ROOTS}
    answers = context.ask(asked, state={"asked": 3})
    return Facts({"answers": answers, "state": context.state})


@ASKING.tool(title="Model", description="Asks the client's model.", input_schema=NOTHING)
def ask_model(context: ToolContext, _arguments: Arguments) -> Facts:
    return Facts(context.ask({"model": SAMPLING})["model"]["content"]["text"])


@ASKING.tool(title="Link", description="Sends the person to a page.", input_schema=NOTHING)
def send_to_page(context: ToolContext, _arguments: Arguments) -> Facts:
    params = {"mode": "url", "message": "Sign in there.", "url": "https://example.com/connect"}
    return Facts(context.ask({"page": {"method": "elicitation/create", "params": params}}))


@ASKING.tool(title="Choose", description="Offers titled choices.", input_schema=NOTHING)
def choose(context: ToolContext, _arguments: Arguments) -> Facts:
    size = TEXT | {"oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]}
    count = {"type": "integer", "default": 1, "minimum": 1}
    return Facts(context.ask_form("order", "Which?", {"size": size, "count": count}))


@ASKING.tool(title="Choose several", description="Offers several.", input_schema=NOTHING)
def choose_several(context: ToolContext, _arguments: Arguments) -> Facts:
    several = {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}
    return Facts(context.ask_form("order", "Which?", {"several": several}))


@ASKING.tool(title="As it can", description="Asks what can be asked.", input_schema=NOTHING)
def ask_as_it_can(context: ToolContext, _arguments: Arguments) -> Facts:
    if "elicitation" in context.client_capabilities:
        return Facts(context.ask({"person": form("Who?", name=TEXT)}))
    return Facts(context.ask({"model": SAMPLING}))


@ASKING.tool(
    title="Report and ask",
    description="Says something, asks, and says more.",
    input_schema=NOTHING,
    streams=True,
)
def report_and_ask(context: ToolContext, _arguments: Arguments) -> Facts:
    context.progress(1, 2, "before")
    context.log("info", "before")
    filled = context.ask_form("person", "Who are you?", NAME)
    context.progress(2, 2, "after")
    return Facts(filled)


@ASKING.tool(title="Misspelt", description="Asks what cannot be asked.", input_schema=NOTHING)
def ask_nonsense(context: ToolContext, _arguments: Arguments) -> Facts:
    return Facts(context.ask({"x": {"method": "tools/call", "params": {}}}))


@ASKING.prompt(title="Plan", description="Asks a topic.")
def plan(context: ToolContext, _arguments: Mapping[str, str]) -> list[PromptMessage]:
    return [
        text_message(f"Plan {context.ask_form('topic', 'About what?', {'topic': TEXT})['topic']}")
    ]


@ASKING.resource(uri="asking://secret", title="Secret", description="Asks a word.")
def secret(context: ToolContext, _values: Mapping[str, str]) -> ResourceBody:
    return ResourceBody(context.ask_form("word", "The word?", {"word": TEXT})["word"])


PRICES = [10]


@ASKING.tool(title="Pay", description="Asks for today's price.", input_schema=NOTHING, mutates=True)
def pay(context: ToolContext, _arguments: Arguments) -> Facts:
    price = PRICES[-1]
    context.ask_form("sure", f"Pay {price} euros?", {"sure": {"type": "boolean"}})
    return Facts({"paid": price})
