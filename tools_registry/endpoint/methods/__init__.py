"""The MCP methods, a function each, by name."""

from collections.abc import Mapping
from typing import Final

from tools_registry.endpoint.methods import (
    completion,
    lifecycle,
    logging,
    prompts,
    resources,
    skills,
    subscriptions,
    tasks,
    tools,
)
from tools_registry.endpoint.methods.request import Handler, MethodRequest

__all__ = ["HANDLERS", "Handler", "MethodRequest"]

HANDLERS: Final[Mapping[str, Handler]] = {
    "initialize": lifecycle.initialize,
    "server/discover": lifecycle.discover,
    "ping": lifecycle.ping,
    "tools/list": tools.list_tools,
    "tools/call": tools.call_tool,
    "resources/list": resources.list_resources,
    "resources/templates/list": resources.list_templates,
    "resources/read": resources.read_resource,
    "resources/subscribe": resources.subscribe,
    "resources/unsubscribe": resources.unsubscribe,
    "prompts/list": prompts.list_prompts,
    "prompts/get": prompts.get_prompt,
    "completion/complete": completion.complete,
    "logging/setLevel": logging.set_level,
    "subscriptions/listen": subscriptions.listen,
    "tasks/get": tasks.get,
    "tasks/update": tasks.update,
    "tasks/cancel": tasks.cancel,
    "tasks/result": tasks.read_result,
    "tasks/list": tasks.list_tasks,
    "skills/list": skills.list_skills,
    "skills/get": skills.get_skill,
    "resources/directory/read": skills.read_directory,
}
