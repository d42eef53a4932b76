"""skills/list, skills/get and resources/directory/read, on surfaces that announce skills."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import structlog

from mcp_protocol import capabilities, resource_shapes, skill_shapes
from mcp_protocol.errors import method_not_found
from mcp_protocol.strict_json import JsonObject
from tools_registry.api import NotFound, Resource, Skill
from tools_registry.endpoint.methods.request import MethodRequest, text_in
from tools_registry.endpoint.paging import Key
from tools_registry.pipeline import visibility

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ServedSkill:
    """A skill that the caller may read, with the texts of its files by their URIs."""

    skill: Skill
    files: Mapping[str, str]

    @property
    def entry(self) -> JsonObject:
        return skill_shapes.skill_entry(self.skill.uri, self.skill.frontmatter, self.files)


def list_skills(request: MethodRequest) -> JsonObject:
    page = request.page(list(_readable_skills(request)), _uri_of_skill)
    entries = [served.entry for served in page.things]
    return skill_shapes.skills_list_result(entries, request.revision, page.next_cursor)


def get_skill(request: MethodRequest) -> JsonObject:
    uri = text_in(request.params, "uri")
    for served in _readable_skills(request):
        if served.skill.uri == uri:
            return skill_shapes.skill_result(served.entry, request.revision)
    raise skill_shapes.unknown_skill(uri)


def read_directory(request: MethodRequest) -> JsonObject:
    """The files and directories directly in a directory of a skill."""
    uri = text_in(request.params, "uri")
    children = {
        child.uri: child for served in _readable_skills(request) for child in _children(served, uri)
    }
    if not children:  # a skill has no empty directory
        raise skill_shapes.unknown_directory(uri)
    page = request.page([*children.values()], _uri)
    return resource_shapes.resources_list_result(page.things, request.revision, page.next_cursor)


def _readable_skills(request: MethodRequest) -> Iterator[ServedSkill]:
    """The skills that a read would not refuse. Raises ProtocolError where there are none."""
    surface, who = request.surface, request.principal
    announced = capabilities.capabilities(surface.server(), request.revision)
    if capabilities.SKILLS_EXTENSION not in announced.get("extensions", {}):
        raise method_not_found(request.method)
    for skill in visibility.filter_visible(
        surface.catalogue.skills(who.organization_id), who, surface
    ):
        try:
            yield ServedSkill(skill, skill.read())
        except NotFound:
            continue  # the deployment has other pages
        except Exception:
            # One that cannot be made must not take the list along; a read returns the error.
            log.exception("skill_failed", skill=skill.name)


def _children(served: ServedSkill, directory: str) -> Iterator[Resource]:
    root = served.skill.root
    if directory != root and not directory.startswith(f"{root}/"):
        return
    for uri in served.files:
        if uri.startswith(f"{directory}/"):
            name, *below = uri.removeprefix(f"{directory}/").split("/")
            child = f"{directory}/{name}"
            if below:
                yield served.skill.to_resource(child, name, skill_shapes.DIRECTORY_TYPE)
            else:
                yield served.skill.to_resource(child, name)


def _uri_of_skill(served: ServedSkill) -> Key:
    return (served.skill.uri,)


def _uri(resource: Resource) -> Key:
    return (resource.uri,)
