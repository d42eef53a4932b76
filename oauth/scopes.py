"""The scope grammar; scopes are compared by meaning and not by text.

Source: the scopes document, "The scope grammar"; in plain words in docs/scopes.md.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, Literal, NamedTuple

from oauth.errors import InvalidScope

MAX_TEXT: Final = 8_192  # characters of a `scope` parameter
MAX_REMEMBERED_TEXT: Final = 1_024

# Of a project of the gateway: 128 random bits in base64url (`foundation.ids.reference`).
PROJECT_ID: Final = r"prj_[A-Za-z0-9_-]{22}"

# An allow-list: text that does not match in full is no scope. The tools of an external server
# (`mcp.<slug>`) have the names of that server, in the alphabet of MCP tool names.
_GRAMMAR = re.compile(
    r"docs:read|setup:read|data:read|actions:\*"
    r"|actions:[a-z][a-z0-9_]{0,63}:(?:\*|[a-z][a-z0-9_]{0,63})"
    r"|actions:mcp\.[a-z][a-z0-9_]{0,31}:(?:\*|[A-Za-z0-9_.-]{1,128})"
    rf"|projects:{PROJECT_ID}:(?:\*|[A-Za-z0-9_.-]{{1,64}})"
)


@dataclass(frozen=True, slots=True)
class Scope:
    """One recognised scope, split at its colons; created by functions of this module only."""

    parts: tuple[str, ...]

    def __str__(self) -> str:
        return ":".join(self.parts)

    @property
    def integration(self) -> str | None:
        """The integration id of an `actions:<integration>:...` scope; None for any other scope."""
        return self.parts[1] if self.parts[0] == "actions" and self.parts[2:] else None

    @property
    def project(self) -> str | None:
        """The project id of a `projects:<projectId>:...` scope; None for any other scope."""
        return self.parts[1] if self.parts[0] == "projects" else None

    @property
    def may_change(self) -> bool:
        """Whether it can permit changes; of a single tool of a project, only the project knows."""
        return self.parts[0] in {"actions", "projects"}

    def granting_scopes(self) -> frozenset["Scope"]:
        """Return every scope that grants this one, including itself.

        `actions:<integration>:*` grants only that integration's actions. `actions:*` grants all
        actions and IMPLIED_BY_ALL_ACTIONS. `projects:<projectId>:*` grants only that project's
        tools, and nothing else grants them. Source: the scopes document, "The scope grammar".
        """
        if self.project is not None:
            return frozenset((self, Scope((*self.parts[:2], "*"))))
        if self.integration is not None:
            return frozenset((self, Scope((*self.parts[:2], "*")), ALL_ACTIONS))
        return frozenset((self, ALL_ACTIONS) if self in IMPLIED_BY_ALL_ACTIONS else (self,))


ALL_ACTIONS: Final = Scope(("actions", "*"))
# A list and not "everything": a scope added to the grammar later is not implied by old tokens.
IMPLIED_BY_ALL_ACTIONS: Final = frozenset(
    (Scope(("docs", "read")), Scope(("setup", "read")), Scope(("data", "read")))
)


class ScopeTooLong(InvalidScope):
    """The text of a `scope` parameter exceeds MAX_TEXT."""


class ScopeNotCovered(InvalidScope):
    """A requested scope is not part of the grant; `scope` names it."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(f"The scope {scope} was not granted.")
        self.scope = scope


@dataclass(frozen=True)
class ScopeSet:
    """Recognised scopes in the order of the request, each once."""

    members: tuple[Scope, ...] = ()

    def __str__(self) -> str:
        return " ".join(map(str, self.members))

    def __iter__(self) -> Iterator[Scope]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)

    @cached_property
    def _lookup(self) -> frozenset[Scope]:
        return frozenset(self.members)

    def covers(self, required: Scope | str) -> bool:
        """Returns whether these scopes grant the required one; an unknown text is never granted."""
        if isinstance(required, str):
            return not self._lookup.isdisjoint(_granting(required))
        return not self._lookup.isdisjoint(required.granting_scopes())

    def intersect(self, other: "ScopeSet") -> "ScopeSet":
        """Returns the scopes that both sets grant.

        The result covers a scope exactly if both sets do: of two scopes, one includes the other or
        they are disjoint, so the narrower member of every overlap is enough.
        """
        mine = (scope for scope in self if other.covers(scope))
        theirs = (scope for scope in other if self.covers(scope))
        return ScopeSet(tuple(dict.fromkeys((*mine, *theirs))))

    def narrow(self, requested: "ScopeSet") -> "ScopeSet":
        """Returns the requested scopes if all of them are covered.

        Raises ScopeNotCovered for the first that is not, and InvalidScope for an empty request: a
        token without scopes could do nothing. Source: RFC 6749 6; the scopes document, "Downscope".
        """
        if not requested:
            raise InvalidScope("None of the requested scopes is known.")
        for scope in requested:
            if not self.covers(scope):
                raise ScopeNotCovered(scope)
        return requested


def parse(text: str) -> ScopeSet:
    """Parses a `scope` parameter; unknown scopes are dropped without an error.

    Keeps the order and drops repetitions. Only the ASCII space separates (RFC 6749 3.3). Raises
    ScopeTooLong over MAX_TEXT characters. Source: the scopes document, "The scope grammar".
    """
    if len(text) > MAX_TEXT:
        raise ScopeTooLong(f"The scope is longer than {MAX_TEXT} characters.")
    recognised = (_recognise(token) for token in text.split(" "))
    return ScopeSet(tuple(dict.fromkeys(scope for scope in recognised if scope is not None)))


def effective(token: str, consent: str) -> ScopeSet:
    """Returns what a token grants under a consent: the scopes that both texts grant."""
    # Texts of many scopes are rare, and would fill the cache.
    is_short = len(token) + len(consent) <= MAX_REMEMBERED_TEXT
    return _remembered(token, consent) if is_short else _intersect_scopes(token, consent)


def _intersect_scopes(token: str, consent: str) -> ScopeSet:
    return parse(token).intersect(parse(consent))


# The meaning of a text never changes; authorization is checked with every request.
_remembered: Final = lru_cache(maxsize=1_024)(_intersect_scopes)


def for_project(project_id: str, tool: str = "*") -> Scope:
    """Returns the scope of one tool of a project, or of all.

    Raises ValueError for names outside the grammar: no token could ever hold such a scope.
    """
    scope = _recognise(f"projects:{project_id}:{tool}")
    if scope is None:
        raise ValueError(f"no scope can name {project_id!r} {tool!r}")
    return scope


def from_names(names: Iterable[str]) -> ScopeSet:
    """Returns the scopes of an API key. OAuth does not know them: they are compared by text."""
    return ScopeSet(tuple(Scope(tuple(name.split(":"))) for name in names))


def scope_allows_destructive(_scopes: ScopeSet) -> bool:
    """Returns False: no scope permits destructive actions.

    The one function that refunds, deletions and irreversible writes would have to pass. An MCP
    client is less under the operator's control than the dashboard, so these actions are always
    refused instead of offered for consent. Source: the scopes document, "Destructive actions are
    not exposed via MCP".
    """
    return False


# A list of tools needs the scope of every tool: a few thousand texts, all from the code.
@lru_cache(maxsize=4_096)
def _granting(required: str) -> frozenset[Scope]:
    """Returns every scope that grants the one of this text; none for an unknown text."""
    scope = _recognise(required)
    return frozenset() if scope is None else scope.granting_scopes()


def _recognise(token: str) -> Scope | None:
    return Scope(tuple(token.split(":"))) if _GRAMMAR.fullmatch(token) else None


# Scopes of OpenID Connect, which clients request out of habit: accepted and dropped.
IDENTITY: Final = frozenset({"openid", "profile", "email", "offline_access"})

ADVERTISED: Final = parse("docs:read setup:read data:read")
"""The scopes of the discovery documents. Clients request all of them, so none permits changes."""

SUPPORTED: Final = ScopeSet((*ADVERTISED, ALL_ACTIONS))
"""The scopes that exist in every deployment, whichever integrations it has."""

FIXED: Final = frozenset(SUPPORTED)


class ScopeDescription(NamedTuple):
    """The text of the consent page for a scope; `kind` is "read" or "act"."""

    title: str
    sentence: str
    kind: Literal["read", "act"]


_FIXED_DESCRIPTIONS: Final[Mapping[str, ScopeDescription]] = {
    "docs:read": ScopeDescription(
        "Read the documentation", "Search and open the public product documentation.", "read"
    ),
    "setup:read": ScopeDescription(
        "Read the setup guide",
        "See the install snippet and the sample for signing people in, to help set up the widget.",
        "read",
    ),
    "data:read": ScopeDescription(
        "Read organization data",
        "Look up people, companies, tickets, conversations and product figures. Nothing changes.",
        "read",
    ),
    "actions:*": ScopeDescription(
        "Act in every connected integration",
        "Run every enabled action that is not destructive, and read the documentation, the setup "
        "guide and the organization data.",
        "act",
    ),
}


def describe(scope: Scope, names: Mapping[str, str] | None = None) -> ScopeDescription:
    """Returns the description of a scope for the user who is asked to grant it.

    `names` maps integration and project ids to display names; without one the id of an integration
    is spelled out.
    """
    if scope.project is not None:
        return _describe_project_scope(scope, (names or {}).get(scope.project) or scope.project)
    if scope.integration is None:
        return _FIXED_DESCRIPTIONS[str(scope)]
    name = (names or {}).get(scope.integration) or _integration_title(scope.integration)
    action = scope.parts[2]
    if action == "*":
        return ScopeDescription(
            f"Act in {name}", f"Run every enabled action of {name} that is not destructive.", "act"
        )
    plain = action.replace("_", " ")
    return ScopeDescription(f"{name}: {plain}", f"Run the one action “{plain}” in {name}.", "act")


def _describe_project_scope(scope: Scope, name: str) -> ScopeDescription:
    tool = scope.parts[2]
    if tool == "*":
        sentence = f"Call every tool of {name}, as its policy allows."
        return ScopeDescription(f"Use all tools of {name}", sentence, "act")
    return ScopeDescription(f"{name}: {tool}", f"Call the one tool “{tool}” of {name}.", "act")


def _integration_title(integration: str) -> str:
    return integration.removeprefix("mcp.").replace("_", " ").title()
