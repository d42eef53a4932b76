"""What a driver is asked on its standard input, and what it replies on its standard output.

A line is a JSON object: {"step": "list"} or {"step": "call", "tool": name, "arguments": {...}}. The
reply is {"tools": [names]}, {"text": text} or {"error": text}. The end of the input is the end.
"""

import asyncio
import json
import sys
import traceback
from collections.abc import Awaitable, Callable

Listing = Callable[[], Awaitable[list[str]]]
Calling = Callable[[str, dict[str, object]], Awaitable[str]]


async def answer_lines(list_tools: Listing, call_tool: Calling) -> None:
    while line := await asyncio.to_thread(sys.stdin.readline):
        request = json.loads(line)
        reply: dict[str, object]
        try:
            if request["step"] == "list":
                reply = {"tools": await list_tools()}
            else:
                reply = {"text": await call_tool(request["tool"], request["arguments"])}
        except Exception as error:  # noqa: BLE001  the runner reports whatever the client raises
            traceback.print_exc()
            reply = {"error": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
