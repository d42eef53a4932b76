"""What the consent page of a request offers, and what a selection of it grants.

A request for all tools of a project is offered tool by tool. If all are left selected, the grant is
for all tools, else for those that were.
"""

from typing import Final

from oauth import addresses, ports, scopes
from oauth.models import AuthorizationRequest
from oauth.ports import Project
from oauth.scopes import Scope, ScopeSet

# The text of as many scopes of the longest kind is within `scopes.MAX_TEXT`. A larger project is
# offered as a whole.
MAX_SINGLE_TOOLS: Final = 80


def of(asked: AuthorizationRequest) -> ScopeSet:
    """Returns the scopes that the page offers: those that were requested and exist."""
    requested = scopes.parse(asked.scope)
    project = project_of(asked)
    if project is None:
        return requested
    tools = ScopeSet(tuple(scopes.for_project(project.id, tool.name) for tool in project.tools))
    everything = scopes.for_project(project.id)
    if everything not in requested.members:
        return ScopeSet(tuple(scope for scope in requested if scope in tools.members))
    return tools if _is_split(project) else ScopeSet((everything,))


def granted(asked: AuthorizationRequest, ticked: frozenset[str]) -> ScopeSet:
    """Returns the scopes of a selection; all tools of a project if none was cleared."""
    choices = of(asked)
    chosen = tuple(scope for scope in choices if str(scope) in ticked)
    everything = _everything(asked)
    if everything is not None and len(chosen) == len(choices):
        return ScopeSet((everything,))
    return ScopeSet(chosen)


def is_extensible(asked: AuthorizationRequest) -> bool:
    """Returns whether the request is for all tools of a project, and so for later ones."""
    return _everything(asked) is not None


def project_of(asked: AuthorizationRequest) -> Project | None:
    """Returns the project that a request is for; None for the workspace, and if it is unknown."""
    project_id = addresses.project_of(asked.resource)
    return None if project_id is None else ports.projects().find(project_id)


def _everything(asked: AuthorizationRequest) -> Scope | None:
    project_id = addresses.project_of(asked.resource)
    if project_id is None:
        return None
    everything = scopes.for_project(project_id)
    return everything if everything in scopes.parse(asked.scope).members else None


def _is_split(project: Project) -> bool:
    return 0 < len(project.tools) <= MAX_SINGLE_TOOLS
