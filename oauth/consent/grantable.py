"""The scopes that may be granted: those of existing, non-destructive tools.

A token never gains an integration or action that is added later under a name that its scope
contains, because such a scope is not granted. Why: docs/decisions/0040-grantable-scopes.md.

Whether a project of the gateway and its tools exist is not checked here: the answer would tell
strangers. The consent page offers only tools that exist (`oauth/consent/offered.py`).
"""

from oauth import ports, scopes
from oauth.scopes import Scope, ScopeSet


def parse(text: str) -> ScopeSet:
    """Parses a `scope` parameter; drops scopes that may not be granted, without an error.

    Raises ScopeTooLong. Source: the scopes document, "The scope grammar".
    """
    return only(scopes.parse(text))


def only(requested: ScopeSet) -> ScopeSet:
    """Returns the requested scopes that may be granted, in their order."""
    return ScopeSet(tuple(filter(_may_be_granted, requested)))


def for_resource(text: str, project_id: str | None) -> ScopeSet:
    """Returns the scopes of a request that belong to its resource: a project's, or all others.

    For a project, a request of nothing but scopes of OpenID Connect is one without a scope: for all
    of its tools. Raises ScopeTooLong.
    """
    requested = parse(text)
    if project_id is not None and set(text.split(" ")) - {""} <= scopes.IDENTITY:
        return ScopeSet((scopes.for_project(project_id),))
    return ScopeSet(tuple(scope for scope in requested if scope.project == project_id))


def everything() -> ScopeSet:
    """Returns every scope that may be granted for the workspace, the wide ones first."""
    explainer = ports.scope_explainer()
    single = [
        scope
        for integration in sorted(explainer.integration_names())
        for action in ("*", *sorted(explainer.grantable_actions(integration) or ()))
        for scope in scopes.parse(f"actions:{integration}:{action}")
    ]
    return ScopeSet((*scopes.SUPPORTED, *single))


def only_project(text: str) -> str | None:
    """Returns the project that all scopes of a request belong to, or None."""
    named = {scope.project for scope in scopes.parse(text)}
    return named.pop() if len(named) == 1 else None


def _may_be_granted(scope: Scope) -> bool:
    if scope in scopes.FIXED or scope.project is not None:
        return True
    actions = _actions(scope)
    return actions is not None and (scope.parts[2] == "*" or scope.parts[2] in actions)


def _actions(scope: Scope) -> frozenset[str] | None:
    if scope.integration is None:
        return None
    return ports.scope_explainer().grantable_actions(scope.integration)
