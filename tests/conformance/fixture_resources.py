"""The suite's resources and prompts; names, addresses and texts are the suite's."""

import json
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Final

from tests.conformance.fixture_content import IMAGE, PNG, resource
from tests.conformance.fixture_elicitation import STRING, form, schema
from tools_registry.api import (
    Argument,
    PromptMessage,
    ResourceBody,
    ToolContext,
    Toolset,
    text_message,
)

OFFERS: Final = Toolset(scope="docs:read", title="Conformance: resources and prompts")
Values = Mapping[str, str]


@OFFERS.resource(
    uri="test://static-text",
    title="Static text",
    description="A text that never changes.",
    mime_type="text/plain",
)
def static_text(_context: ToolContext, _values: Values) -> ResourceBody:
    return ResourceBody("This is the content of the static text resource.")


@OFFERS.resource(
    uri="test://static-binary",
    title="Static image",
    description="An image that never changes.",
    mime_type="image/png",
)
def static_binary(_context: ToolContext, _values: Values) -> ResourceBody:
    return ResourceBody(b64decode(PNG))


@OFFERS.resource(
    uri="test://watched-resource",
    title="Watched",
    description="A resource that can be subscribed to.",
    mime_type="text/plain",
)
def watched_resource(_context: ToolContext, _values: Values) -> ResourceBody:
    return ResourceBody("Nothing has changed here.")


@OFFERS.template(
    uri_template="test://template/{id}/data",
    title="Template",
    description="Data by id.",
    mime_type="application/json",
)
def template_data(_context: ToolContext, values: Values) -> ResourceBody:
    message = {"id": values["id"], "templateTest": True, "data": f"Data for ID: {values['id']}"}
    return ResourceBody(json.dumps(message))


@OFFERS.prompt(title="Simple", description="A prompt without arguments.")
def test_simple_prompt(_context: ToolContext, _values: Values) -> Sequence[PromptMessage]:
    return [text_message("This is a simple prompt for testing.")]


@OFFERS.prompt(
    title="With arguments",
    description="A prompt with two arguments.",
    arguments=[
        Argument("arg1", description="First test argument", required=True),
        Argument("arg2", description="Second test argument", required=True),
    ],
)
def test_prompt_with_arguments(_context: ToolContext, values: Values) -> Sequence[PromptMessage]:
    return [
        text_message(f"Prompt with arguments: arg1='{values['arg1']}', arg2='{values['arg2']}'")
    ]


@OFFERS.prompt(
    title="With a resource",
    description="A prompt with a resource in it.",
    arguments=[Argument("resourceUri", description="Which resource", required=True)],
)
def test_prompt_with_embedded_resource(
    _context: ToolContext, values: Values
) -> Sequence[PromptMessage]:
    words = "Embedded resource content for testing."
    return [
        PromptMessage(resource(values["resourceUri"], "text/plain", words)),
        text_message("Please process the embedded resource above."),
    ]


@OFFERS.prompt(title="With an image", description="A prompt with an image in it.")
def test_prompt_with_image(_context: ToolContext, _values: Values) -> Sequence[PromptMessage]:
    return [PromptMessage(IMAGE), text_message("Please analyze the image above.")]


@OFFERS.prompt(title="Asking", description="A prompt that asks the person first.")
def test_input_required_result_prompt(
    context: ToolContext, _values: Values
) -> Sequence[PromptMessage]:
    question = form("What context should the prompt use?", schema("context", context=STRING))
    answer = context.ask({"user_context": question})["user_context"]
    return [text_message(f"Use this context: {answer.get('content', {}).get('context', '')}")]
