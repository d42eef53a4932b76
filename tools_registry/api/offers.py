"""What a toolset offers: tools, resources, families of resources, prompts, skills; no Django.

Authors import these from `tools_registry.api`.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias, TypeVar
from uuid import UUID

from tools_registry.api.context import ToolContext
from tools_registry.api.results import (
    Facts,
    Json,
    NotFound,
    PromptMessage,
    ResourceBody,
    Result,
)
from tools_registry.api.uri_templates import compile_template, expand_template
from tools_registry.api.vendor import Vendor

# The file that every skill has, with its frontmatter (agentskills.io/specification).
MAIN_FILE: Final = "SKILL.md"

# Words of a name that promise something which cannot be undone, in any form such as "deletes" or
# "cancellation".
DESTRUCTIVE_WORD: Final = re.compile(
    r"(?:cancel|delet|destr[ou]y|drop|eras|purg|refund|remov|revok|terminat|void|wipe)"
    r"(?:s|e|es|ed|d|ing|ion|ions|al|als|led|ling|lation|lations)?"
)
# Names are written as delete_book, delete-book, books.delete and deleteBook.
WORD_BOUNDARY: Final = re.compile(r"[._-]|(?<=[a-z0-9])(?=[A-Z])")

R = TypeVar("R")
Arguments: TypeAlias = Mapping[str, Json]
Schema: TypeAlias = Mapping[str, Json]


def find_destructive_words(name: str) -> list[str]:
    """Returns the words of a tool's name that promise something which cannot be undone."""
    words = WORD_BOUNDARY.split(name)
    return [word for word in words if DESTRUCTIVE_WORD.fullmatch(word.lower())]


def pass_as_mapping(function: Callable[[ToolContext, Arguments], R]) -> Callable[..., R]:
    """Returns what is called with arguments by name, and calls a function with all in a mapping."""

    def run(context: ToolContext, /, **arguments: Json) -> R:
        return function(context, arguments)

    return run


class Guarded(Protocol):
    """What the gate reads of anything that is offered."""

    @property
    def name(self) -> str: ...
    @property
    def scope(self) -> str: ...
    @property
    def integration(self) -> str: ...
    @property
    def action(self) -> str: ...
    @property
    def destructive(self) -> bool: ...
    @property
    def mutates(self) -> bool: ...


class Outgoing(Protocol):
    """What one call sends to another server, built once from its arguments."""

    @property
    def digest(self) -> str:
        """SHA-256 of what is sent, but for credentials and the key of the call."""

    @property
    def origin(self) -> str:
        """Scheme, host and port of the server."""

    @property
    def seconds(self) -> float:
        """The time that the call may take."""


# Given the organization and checked arguments; raises ToolFailure for what cannot be sent.
BuildOutgoing: TypeAlias = Callable[[UUID, Arguments], Outgoing]
# Given the context, and the arguments by name.
Run: TypeAlias = Callable[..., Result]
Read: TypeAlias = Callable[[ToolContext, Mapping[str, str]], ResourceBody]
Say: TypeAlias = Callable[[ToolContext, Mapping[str, str]], Sequence[PromptMessage]]
# The texts of a skill's files by their paths; SKILL.md without its frontmatter.
WriteSkill: TypeAlias = Callable[[], Mapping[str, str]]
# Given what is typed so far and what the other arguments are: every value that fits, best first.
Complete: TypeAlias = Callable[[ToolContext, str, Mapping[str, str]], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Following:
    """How a change that a vendor finishes later is followed, once an approval has started it.

    The `status` of its result is one of `statuses` until then. `read` is given that result, and
    returns the present one; it raises NotDone for a change that was not made after all.
    """

    statuses: frozenset[str]
    read: Callable[[Vendor, Json], Facts] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tool:
    """One tool as lists, gate and pipeline see it. It equals itself only, and can be a key.

    `destructive` keeps it out of MCP for good; `mutates` is hinted to clients, and such a call is
    recorded before it runs. The two differ: `linear.create_bug` mutates and may be called. An
    integration's tool sets `mutates` or `read_only`. `not_destructive` says why a tool with a name
    like a deletion is not destructive. `is_lenient` takes empty text and null for an argument that
    was left out, also where the schema takes them, and reads choices in any case and with other
    separators. A tool that `reads_text` takes numbers and booleans as text where the schema takes
    no text. `argument_schema` validates arguments where `input_schema`, which lists show, is a
    portable form of it. A tool that `waits` for another server without being an integration's runs
    as those do: on threads of their own, with a share for each organization. `outgoing` builds what
    a call sends before anything is decided: an approval is bound to it, and the tool finds it in
    its context.
    `owner` is the organization that wrote the schemas, if one did. `app` is the URI of the MCP App
    that shows the results of the tool, where the client shows apps (`tools_registry.api.apps`).
    `following` is for a change that the vendor finishes later.
    """

    name: str
    title: str
    description: str
    input_schema: Schema
    run: Run = field(repr=False)
    scope: str
    output_schema: Schema | None = None
    integration: str = ""
    action: str = ""
    destructive: bool = False
    mutates: bool = False
    read_only: bool = False
    not_destructive: str = ""
    open_world: bool = False
    streams: bool = False
    waits: bool = False
    is_lenient: bool = False
    reads_text: bool = False
    argument_schema: Schema | None = None
    outgoing: BuildOutgoing | None = field(default=None, repr=False)
    owner: str = ""
    app: str = ""
    following: Following | None = None
    icons: Sequence[Schema] = ()
    meta: Schema = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What resources, templates and prompts have in common; the gate reads the last three.

    An integration's offer belongs to one action and is on while that action is.
    """

    name: str
    title: str
    description: str
    icons: Sequence[Schema] = ()
    meta: Schema = field(default_factory=dict)
    scope: str
    integration: str = ""
    action: str = ""

    @property
    def destructive(self) -> bool:
        return False

    @property
    def mutates(self) -> bool:
        return False

    @property
    def streams(self) -> bool:
        return False

    @property
    def waits(self) -> bool:
        return False

    @property
    def outgoing(self) -> BuildOutgoing | None:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource(Offer):
    """Something to read at one URI. `size` in bytes, `annotations` as MCP shapes them."""

    uri: str
    run: Callable[[ToolContext], ResourceBody] = field(repr=False)
    mime_type: str = ""
    size: int | None = None
    annotations: Schema = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ListedResource:
    """One resource of a template that is worth listing, by the values of its variables."""

    values: Mapping[str, str]
    name: str
    title: str = ""
    description: str = ""
    size: int | None = None
    annotations: Schema = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceTemplate(Offer):
    """A family of resources, such as `docs://{page}`.

    `listed` names those that resources/list shows; `completions` has a function by variable.
    """

    uri_template: str
    run: Read = field(repr=False)
    mime_type: str = ""
    annotations: Schema = field(default_factory=dict)
    listed: Callable[[ToolContext], Sequence[ListedResource]] | None = field(
        default=None, repr=False
    )
    completions: Mapping[str, Complete] = field(default_factory=dict, repr=False)

    def find_resource(self, uri: str) -> Resource | None:
        """The resource at a URI, or None where the URI has another form."""
        values = compile_template(self.uri_template).match(uri)
        return (
            None
            if values is None
            else self._resource(uri, values, ListedResource(values, self.name))
        )

    def resources(self, context: ToolContext) -> list[Resource]:
        """The resources that a list shows."""
        found = self.listed(context) if self.listed else ()
        return [
            self._resource(expand_template(self.uri_template, one.values), one.values, one)
            for one in found
        ]

    def _resource(self, uri: str, values: Mapping[str, str], one: ListedResource) -> Resource:
        return Resource(
            uri=uri,
            run=lambda context: self.run(context, values),
            name=one.name,
            title=one.title,
            description=one.description,
            mime_type=self.mime_type,
            size=one.size,
            annotations=one.annotations,
            icons=self.icons,
            scope=self.scope,
            integration=self.integration,
            action=self.action,
        )


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a prompt; its value is always text."""

    name: str
    title: str = ""
    description: str = ""
    required: bool = False
    complete: Complete | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt(Offer):
    """Messages that a person starts a conversation with."""

    run: Callable[..., Sequence[PromptMessage]] = field(repr=False)
    arguments: Sequence[Argument] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill(Offer):
    """Instructions for an agent: a directory of Markdown files, each of which is a resource.

    `name` is in lower case with hyphens. The files are the same for everybody who may read them.
    """

    run: WriteSkill = field(repr=False)

    @property
    def uri(self) -> str:
        """The URI of SKILL.md, by which clients know the skill."""
        return f"{self.root}/{MAIN_FILE}"

    @property
    def frontmatter(self) -> Mapping[str, str]:
        return {"name": self.name, "description": self.description}

    def read(self) -> Mapping[str, str]:
        """The texts of all files by their URIs."""
        files = dict(self.run())
        # A string of JSON is one of YAML.
        fields = [f"{name}: {json.dumps(value)}" for name, value in self.frontmatter.items()]
        files[MAIN_FILE] = "\n".join(["---", *fields, "---", "", files[MAIN_FILE]])
        return {f"{self.root}/{path}": text for path, text in files.items()}

    def find_resource(self, uri: str) -> Resource | None:
        """The file at a URI, or None where the URI is not in this skill."""
        if not uri.startswith(f"{self.root}/"):
            return None
        is_main = uri == self.uri
        return self.to_resource(uri, self.name if is_main else uri.rpartition("/")[2])

    def to_resource(self, uri: str, name: str, mime_type: str = "text/markdown") -> Resource:
        """A file or a directory of the skill as a resource."""
        is_main = uri == self.uri
        return Resource(
            uri=uri,
            run=lambda _context: self._body(uri),
            name=self.name if is_main else name,
            title=self.title if is_main else "",
            description=self.description if is_main else "",
            mime_type=mime_type,
            scope=self.scope,
            integration=self.integration,
            action=self.action,
        )

    @property
    def root(self) -> str:
        """The URI of the directory."""
        return f"skill://{self.name}"

    def _body(self, uri: str) -> ResourceBody:
        text = self.read().get(uri)
        if text is None:
            raise NotFound("The skill has no such file.")
        return ResourceBody(text)
