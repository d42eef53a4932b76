"""The resources/ methods: what can be read, and reading it."""

from collections.abc import Sequence

import structlog

from foundation.storable import has_unstorable_text
from mcp_protocol import failures, resource_shapes, shapes
from mcp_protocol.strict_json import JsonObject
from tools_registry import call, operations, registry, visibility
from tools_registry.call import Call, Prepared
from tools_registry.methods.exchange import Exchange, text_in
from tools_registry.operations import Operation, Reply
from tools_registry.paging import Key
from tools_registry.types import Resource, ResourceTemplate, ToolContext

log = structlog.get_logger(__name__)

LONGEST_URI = 2_048


def list_resources(exchange: Exchange) -> JsonObject:
    """What is declared, and what templates list; nothing that a read would refuse."""
    page = exchange.page(_resources(exchange), _uri)
    return resource_shapes.resources_list_result(page.things, exchange.revision, page.next_cursor)


def list_templates(exchange: Exchange) -> JsonObject:
    page = exchange.page(_templates(exchange), _template)
    return resource_shapes.templates_list_result(page.things, exchange.revision, page.next_cursor)


def read_resource(exchange: Exchange) -> Reply | Prepared:
    """The first half of a read: refused and recorded, or ready to run."""
    return call.prepare(_read(exchange, operations.READ))


def subscribe(exchange: Exchange) -> Reply:
    """Accepted for what can be read, and without effect: no resource announces its changes."""
    return _acknowledged(exchange, operations.SUBSCRIBE)


def unsubscribe(exchange: Exchange) -> Reply:
    return _acknowledged(exchange, operations.UNSUBSCRIBE)


def _acknowledged(exchange: Exchange, operation: Operation) -> Reply:
    prepared = call.prepare(_read(exchange, operation))
    return shapes.empty_result(exchange.revision) if isinstance(prepared, Prepared) else prepared


def _read(exchange: Exchange, operation: Operation) -> Call:
    uri = text_in(exchange.params, "uri")
    if len(uri) > LONGEST_URI or has_unstorable_text(uri):
        reason = f"must be at most {LONGEST_URI} plain characters"
        raise failures.invalid_field("uri", "The URI is not valid.", reason)
    return exchange.call(operation, uri, {})


def _resources(exchange: Exchange) -> list[Resource]:
    who = exchange.principal
    organization = who.organization_id
    offered: list[Resource | ResourceTemplate] = [
        *registry.templates(organization),
        *registry.resources(organization),
    ]
    context = visibility.context(who)
    shown = (_shown(one, context) for one in visibility.among(offered, who))
    # A URI that is declared hides the same one of a template, as it does when it is read.
    return list({one.uri: one for resources in shown for one in resources}.values())


def _shown(offered: Resource | ResourceTemplate, context: ToolContext) -> Sequence[Resource]:
    return (offered,) if isinstance(offered, Resource) else _listed(offered, context)


def _listed(template: ResourceTemplate, context: ToolContext) -> Sequence[Resource]:
    try:
        return template.resources(context)
    except Exception:
        # One that cannot be listed must not take the list along; reading it tells what is wrong.
        log.exception("listing_failed", template=template.name)
        return ()


def _templates(exchange: Exchange) -> list[ResourceTemplate]:
    who = exchange.principal
    return visibility.among(registry.templates(who.organization_id), who)


def _uri(resource: Resource) -> Key:
    return (resource.uri,)


def _template(template: ResourceTemplate) -> Key:
    return (template.uri_template,)
