"""prompts/list and prompts/get."""

from mcp_protocol import prompt_shapes
from mcp_protocol.strict_json import JsonObject
from tools_registry import call, operations, registry, visibility
from tools_registry.call import Prepared
from tools_registry.methods.exchange import Exchange, object_in, text_in
from tools_registry.operations import Reply
from tools_registry.paging import Key
from tools_registry.types import Prompt


def list_prompts(exchange: Exchange) -> JsonObject:
    """Exactly the prompts that would not be refused."""
    who = exchange.principal
    visible = visibility.among(registry.prompts(who.organization_id), who)
    page = exchange.page(visible, _key)
    return prompt_shapes.prompts_list_result(page.things, exchange.revision, page.next_cursor)


def get_prompt(exchange: Exchange) -> Reply | Prepared:
    """The first half: refused and recorded, or ready to run."""
    name, arguments = text_in(exchange.params, "name"), object_in(exchange.params, "arguments")
    return call.prepare(exchange.call(operations.GET_PROMPT, name, arguments))


def _key(prompt: Prompt) -> Key:
    return (prompt.integration, prompt.name)
