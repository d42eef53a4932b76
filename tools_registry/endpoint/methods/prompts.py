"""prompts/list and prompts/get."""

from mcp_protocol import prompt_shapes
from mcp_protocol.strict_json import JsonObject
from tools_registry.api import Prompt
from tools_registry.endpoint.methods.request import MethodRequest, object_in, text_in
from tools_registry.endpoint.paging import Key
from tools_registry.endpoint.replies import Reply
from tools_registry.pipeline import call_kinds, visibility
from tools_registry.pipeline.invocation import PreparedCall


def list_prompts(request: MethodRequest) -> JsonObject:
    """Exactly the prompts that would not be refused."""
    who = request.principal
    offered = request.surface.catalogue.prompts(who.organization_id)
    visible = visibility.filter_visible(offered, who, request.surface)
    page = request.page(visible, _key)
    return prompt_shapes.prompts_list_result(page.things, request.revision, page.next_cursor)


def get_prompt(request: MethodRequest) -> Reply | PreparedCall:
    """The first half: refused and recorded, or ready to run."""
    name, arguments = text_in(request.params, "name"), object_in(request.params, "arguments")
    return request.prepare(call_kinds.GET_PROMPT, name, arguments)


def _key(prompt: Prompt) -> Key:
    return (prompt.integration, prompt.name)
