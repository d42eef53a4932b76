"""The resources/ methods: what can be read, and reading it."""

from collections.abc import Iterable, Sequence

import structlog

from foundation.db.storable import has_unstorable_text
from mcp_protocol import failures, resource_shapes, shapes
from mcp_protocol.mcp_apps import URI_SCHEME
from mcp_protocol.resource_shapes import ResourceFacts
from mcp_protocol.strict_json import JsonObject
from tools_registry.api import Resource, ResourceTemplate, ToolContext
from tools_registry.endpoint import mcp_apps
from tools_registry.endpoint.mcp_apps import McpApp
from tools_registry.endpoint.methods.request import MethodRequest, text_in
from tools_registry.endpoint.paging import Key
from tools_registry.endpoint.replies import Reply
from tools_registry.pipeline import call_kinds, calls, visibility
from tools_registry.pipeline.call_kinds import CallKind
from tools_registry.pipeline.invocation import PreparedCall

log = structlog.get_logger(__name__)

MAX_URI_LENGTH = 2_048


def list_resources(request: MethodRequest) -> JsonObject:
    """What is declared, and what templates list; nothing that a read would refuse."""
    listed: list[ResourceFacts] = [*_resources(request), *_apps(request)]
    page = request.page(listed, _uri)
    return resource_shapes.resources_list_result(page.things, request.revision, page.next_cursor)


def list_templates(request: MethodRequest) -> JsonObject:
    page = request.page(_templates(request), _template)
    return resource_shapes.templates_list_result(page.things, request.revision, page.next_cursor)


def read_resource(request: MethodRequest) -> Reply | PreparedCall:
    """The first half of a read: refused and recorded, or ready to run.

    The document of an app is the same for everybody and answered as a list is, without a record:
    the call whose result it shows has one.
    """
    uri = _uri_in(request)
    app = next((one for one in _apps(request) if one.uri == uri), None) if _is_app(uri) else None
    if app is not None:
        return resource_shapes.read_result(app.contents, request.revision)
    return _prepare(request, call_kinds.READ)


def subscribe(request: MethodRequest) -> Reply:
    """Accepted for what can be read, and without effect: no resource announces its changes."""
    return _acknowledge_request(request, call_kinds.SUBSCRIBE)


def unsubscribe(request: MethodRequest) -> Reply:
    return _acknowledge_request(request, call_kinds.UNSUBSCRIBE)


def _acknowledge_request(request: MethodRequest, kind: CallKind) -> Reply:
    prepared = _prepare(request, kind)
    return shapes.empty_result(request.revision) if isinstance(prepared, PreparedCall) else prepared


def _apps(request: MethodRequest) -> Iterable[McpApp]:
    """The apps of the tools that the caller sees; none for a client that does not show apps."""
    if not request.terms.shows_apps:
        return ()
    return mcp_apps.apps_of_tools(visibility.tools(request.principal, request.surface))


def _is_app(uri: str) -> bool:
    return uri.startswith(URI_SCHEME)


def _prepare(request: MethodRequest, kind: CallKind) -> Reply | PreparedCall:
    return request.prepare(kind, _uri_in(request), {})


def _uri_in(request: MethodRequest) -> str:
    uri = text_in(request.params, "uri")
    if len(uri) > MAX_URI_LENGTH or has_unstorable_text(uri):
        reason = f"must be at most {MAX_URI_LENGTH} plain characters"
        raise failures.invalid_field("uri", "The URI is not valid.", reason)
    return uri


def _resources(request: MethodRequest) -> list[Resource]:
    who = request.principal
    surface, organization = request.surface, who.organization_id
    offered: list[Resource | ResourceTemplate] = [
        *surface.catalogue.templates(organization),
        *surface.catalogue.resources(organization),
    ]
    context = calls.make_context(who, surface)
    shown = (
        _list_offered(one, context) for one in visibility.filter_visible(offered, who, surface)
    )
    # A URI that is declared hides the same one of a template, as it does when it is read.
    return list({one.uri: one for resources in shown for one in resources}.values())


def _list_offered(offered: Resource | ResourceTemplate, context: ToolContext) -> Sequence[Resource]:
    return (
        (offered,) if isinstance(offered, Resource) else _list_template_resources(offered, context)
    )


def _list_template_resources(
    template: ResourceTemplate, context: ToolContext
) -> Sequence[Resource]:
    try:
        return template.resources(context)
    except Exception:
        # One that cannot be listed must not take the list along; a read returns the error.
        log.exception("listing_failed", template=template.name)
        return ()


def _templates(request: MethodRequest) -> list[ResourceTemplate]:
    who = request.principal
    offered = request.surface.catalogue.templates(who.organization_id)
    return visibility.filter_visible(offered, who, request.surface)


def _uri(resource: ResourceFacts) -> Key:
    return (resource.uri,)


def _template(template: ResourceTemplate) -> Key:
    return (template.uri_template,)
