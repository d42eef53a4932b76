"""What the consent page of a request offers, and what a selection of it grants.

A request for the workspace that names nothing that permits changes is offered `actions:*` as well,
not selected: the user may grant it without a second sign-in.

A request for all tools of a project is offered tool by tool. If all are left selected, the grant is
for all tools, else for those that were.
"""

from typing import Final

from oauth import addresses, ports, scopes
from oauth.models import AuthorizationRequest
from oauth.ports import GrantableProject, GrantableTool
from oauth.scopes import Scope, ScopeSet

# The text of as many scopes of the longest kind is within `scopes.MAX_TEXT`. A larger project is
# offered as a whole.
MAX_SINGLE_TOOLS: Final = 80


def get_scopes(asked: AuthorizationRequest) -> ScopeSet:
    """Returns the scopes that the page offers: the requested ones that exist, and `additions`."""
    requested = scopes.parse(asked.scope)
    project = project_of(asked)
    if project is None:
        return ScopeSet((*requested, *additions(asked)))
    tools = ScopeSet(tuple(scopes.for_project(project.id, tool.name) for tool in project.tools))
    everything = scopes.for_project(project.id)
    if everything not in requested.members:
        return ScopeSet(tuple(scope for scope in requested if scope in tools.members))
    return tools if _is_split(project) else ScopeSet((everything,))


def additions(asked: AuthorizationRequest) -> ScopeSet:
    """Returns the scopes that the page offers although they were not requested.

    A server may grant more than was requested if the resource owner instructs it to, and the
    response with the token names what was granted (RFC 6749 section 3.3).
    """
    is_for_workspace = addresses.project_of(asked.resource) is None
    if not is_for_workspace or any(scope.may_change for scope in scopes.parse(asked.scope)):
        return ScopeSet()
    return ScopeSet((scopes.ALL_ACTIONS,))


def initial_selection(asked: AuthorizationRequest, named: ScopeSet) -> frozenset[str]:
    """Returns the scopes that are selected when the page opens: those that read, and the named."""
    project = project_of(asked)
    reading = {scopes.for_project(project.id, t.name) for t in _reads(project)} if project else ()
    return frozenset(
        str(scope)
        for scope in get_scopes(asked)
        if not scope.may_change or scope in reading or named.covers(scope)
    )


def granted_scopes(asked: AuthorizationRequest, ticked: frozenset[str]) -> ScopeSet:
    """Returns the scopes of a selection; all tools of a project if none was cleared."""
    choices = get_scopes(asked)
    chosen = tuple(scope for scope in choices if str(scope) in ticked)
    everything = _everything(asked)
    if everything is not None and len(chosen) == len(choices):
        return ScopeSet((everything,))
    return ScopeSet(chosen)


def is_extensible(asked: AuthorizationRequest) -> bool:
    """Returns whether the request is for all tools of a project, and so for later ones."""
    return _everything(asked) is not None


def project_of(asked: AuthorizationRequest) -> GrantableProject | None:
    """Returns the project that a request is for; None for the workspace, and if it is unknown."""
    project_id = addresses.project_of(asked.resource)
    return None if project_id is None else ports.projects().find(project_id)


def _everything(asked: AuthorizationRequest) -> Scope | None:
    project_id = addresses.project_of(asked.resource)
    if project_id is None:
        return None
    everything = scopes.for_project(project_id)
    return everything if everything in scopes.parse(asked.scope).members else None


def _reads(project: GrantableProject) -> list[GrantableTool]:
    return [tool for tool in project.tools if tool.is_read]


def _is_split(project: GrantableProject) -> bool:
    return 0 < len(project.tools) <= MAX_SINGLE_TOOLS
