"""How a tool of the HR endpoint is declared: one function, whose signature says what it takes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, TypedDict, TypeVar

from people.mcp import contract
from people.mcp.contract import EXPOSED
from tools_registry.api import (
    Facts,
    Keywords,
    Result,
    Schema,
    Signature,
    Tool,
    ToolContext,
    read_signature,
)

F = TypeVar("F", bound=Callable[..., Result])

TEXT: Final = {"type": "string"}
KEY: Final[Mapping[str, int]] = {"minLength": 1, "maxLength": 64}

Identifier = Annotated[str, Keywords(**KEY)]


class OperationArguments(TypedDict, total=False):
    """The parameters of an operation; its contract describes them."""

    pathParams: Annotated[Mapping[str, str], Keywords(additionalProperties={**TEXT, **KEY})]
    query: Annotated[
        Mapping[str, Any], Keywords(additionalProperties={"type": ["string", "number", "boolean"]})
    ]


_builders: Final[list[Callable[[], Tool]]] = []


def hr_tool(
    *,
    title: str,
    description: str,
    operation: str = "",
    scope: str = "",
    output: Callable[[], Schema] | None = None,
    unlisted: Sequence[str] = (),
    **more: Any,
) -> Callable[[F], F]:
    """Declares the decorated function as a tool; its name is the function's.

    A tool with an `operation` has its scope and its answer, and if the operation has query
    parameters, the arguments are some of them, with their schemas, and those of its path. Every
    other tool, and one that answers more, has an `output`. `unlisted` is the path of a member of
    the arguments that is accepted and not shown in lists. `more` are fields of `Tool`.
    """

    def declare(function: F) -> F:
        # Not in `build`: a signature that cannot be read stops the import.
        signature = read_signature(function)

        def build() -> Tool:
            accepted = _input_schema(signature, operation)
            listed = _leave_out_member(accepted, unlisted) if unlisted else accepted
            return Tool(
                name=function.__name__,
                title=title,
                description=description,
                input_schema=listed,
                argument_schema=accepted if unlisted else None,
                output_schema=output() if output else contract.answer_schema(EXPOSED[operation]),
                run=_make_compact(signature.run),
                scope=EXPOSED[operation].scope if operation else scope,
                read_only=not more.get("mutates"),
                **more,
            )

        _builders.append(build)
        return function

    return declare


def build_tools() -> tuple[Tool, ...]:
    """Returns the declared tools; their schemas need the document of the HR API."""
    return tuple(build() for build in _builders)


def an_object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the schema of an object that has all of its properties."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def _make_compact(run: Callable[..., Result]) -> Callable[..., Result]:
    """Runs a tool, and answers its text without white space: pages of people are long."""

    def run_tool(context: ToolContext, **arguments: Any) -> Result:
        result = run(context, **arguments)
        return replace(result, is_compact=True) if isinstance(result, Facts) else result

    return run_tool


def _input_schema(signature: Signature, operation: str) -> dict[str, Any]:
    properties = signature.properties
    if operation and EXPOSED[operation].query is not None:
        described = contract.query_parameters(EXPOSED[operation])
        path = contract.path_parameters(EXPOSED[operation])
        properties = {
            name: schema if name in path else described[name] for name, schema in properties.items()
        }
    return {
        "type": "object",
        "properties": properties,
        "required": list(signature.required),
        "additionalProperties": False,
    }


def _leave_out_member(schema: Mapping[str, Any], path: Sequence[str]) -> dict[str, Any]:
    name, *inner = path
    properties = dict(schema["properties"])
    member = properties.pop(name)
    if inner:
        properties[name] = _leave_out_member(member, inner)
    return {**schema, "properties": properties}
