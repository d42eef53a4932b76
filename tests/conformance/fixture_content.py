"""The suite's tools that only answer: content of every kind, failures, progress, log messages.

Names, arguments and texts are the suite's, which calls them and looks at what comes back.
"""

import time
from collections.abc import Iterable
from typing import Any, Final

from tools_registry.api import Arguments, Blocks, Facts, IntegrationFailure, ToolContext, Toolset

CONTENT: Final = Toolset(scope="docs:read", title="Conformance: content")

# One pixel, and a sound of no length.
PNG: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAF"
    "BQIAX8jx0gAAAABJRU5ErkJggg=="
)
WAV: Final = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
LINE: Final = {"type": "string", "maxLength": 200}
NOTHING: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {},
    "additionalProperties": False,
}
PAUSE: Final = 0.05
IMAGE: Final = {"type": "image", "data": PNG, "mimeType": "image/png"}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def resource(uri: str, mime_type: str, words: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": words}}


def with_pauses(items: Iterable[Any]) -> Iterable[Any]:
    for number, item in enumerate(items):
        if number:
            time.sleep(PAUSE)
        yield item


@CONTENT.tool(title="Simple text", description="Answers in one text.", input_schema=NOTHING)
def test_simple_text(_context: ToolContext, _arguments: Arguments) -> Blocks:
    return Blocks([text("This is a simple text response for testing.")])


@CONTENT.tool(title="Image", description="Answers in one image.", input_schema=NOTHING)
def test_image_content(_context: ToolContext, _arguments: Arguments) -> Blocks:
    return Blocks([IMAGE])


@CONTENT.tool(title="Audio", description="Answers in one sound.", input_schema=NOTHING)
def test_audio_content(_context: ToolContext, _arguments: Arguments) -> Blocks:
    return Blocks([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}])


@CONTENT.tool(title="Resource", description="Answers in a resource.", input_schema=NOTHING)
def test_embedded_resource(_context: ToolContext, _arguments: Arguments) -> Blocks:
    words = "This is an embedded resource content."
    return Blocks([resource("test://embedded-resource", "text/plain", words)])


@CONTENT.tool(title="Mixture", description="Answers in three kinds.", input_schema=NOTHING)
def test_multiple_content_types(_context: ToolContext, _arguments: Arguments) -> Blocks:
    facts = resource(
        "test://mixed-content-resource", "application/json", '{"test":"data","value":123}'
    )
    return Blocks([text("Multiple content types test:"), IMAGE, facts])


@CONTENT.tool(title="Error", description="Always fails.", input_schema=NOTHING)
def test_error_handling(_context: ToolContext, _arguments: Arguments) -> Facts:
    raise IntegrationFailure("This tool intentionally returns an error for testing")


@CONTENT.tool(
    title="Progress", description="Says how far it is.", input_schema=NOTHING, streams=True
)
def test_tool_with_progress(context: ToolContext, _arguments: Arguments) -> Blocks:
    for done in with_pauses((0, 50, 100)):
        context.progress(done, 100, f"Completed step {done} of 100")
    return Blocks([text("All of it is done.")])


@CONTENT.tool(title="Log", description="Logs as it goes.", input_schema=NOTHING, streams=True)
def test_tool_with_logging(context: ToolContext, _arguments: Arguments) -> Blocks:
    steps = ("Tool execution started", "Tool processing data", "Tool execution completed")
    for words in with_pauses(steps):
        context.log("info", words)
    return Blocks([text("Three messages were logged.")])


@CONTENT.tool(
    title="Log if asked",
    description="Logs where the request names a level.",
    input_schema=NOTHING,
    streams=True,
)
def test_logging_tool(context: ToolContext, _arguments: Arguments) -> Blocks:
    context.log("info", "The logging tool ran")
    return Blocks([text("Logged, if that was asked for.")])


@CONTENT.tool(
    title="Reconnection",
    description="Answers at once: no stream here is resumed.",
    input_schema=NOTHING,
)
def test_reconnection(_context: ToolContext, _arguments: Arguments) -> Blocks:
    return Blocks([text("Nothing was interrupted.")])


@CONTENT.tool(
    title="Header",
    description="Says back an argument that stands in a header too.",
    input_schema={
        "type": "object",
        "properties": {"region": {"type": "string", "maxLength": 100, "x-mcp-header": "Region"}},
        "required": ["region"],
        "additionalProperties": False,
    },
)
def test_custom_header(_context: ToolContext, arguments: Arguments) -> Blocks:
    return Blocks([text(arguments["region"])])


@CONTENT.tool(
    title="JSON Schema 2020-12",
    description="Tool with JSON Schema 2020-12 features",
    input_schema={
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": LINE, "city": LINE},
                "additionalProperties": False,
            }
        },
        "properties": {
            "name": LINE,
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": LINE,
            "email": LINE,
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {
            "properties": {"contactMethod": {"const": "phone"}},
            "required": ["contactMethod"],
        },
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
)
def json_schema_2020_12_tool(_context: ToolContext, arguments: Arguments) -> Facts:
    return Facts(dict(arguments))
