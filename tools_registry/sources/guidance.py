"""Prompts that a person starts with: plan look-ups that change nothing, review a write."""

from collections.abc import Mapping, Sequence
from typing import Final

from tools_registry.api import (
    Argument,
    PromptMessage,
    ToolContext,
    Toolset,
    ValidationFailure,
    VisibleTool,
    text_message,
)

TOOLSET: Final = Toolset(scope="docs:read", title="Guidance")

MAX_TEXT_LENGTH: Final = 20_000
PLAN: Final = """\
Plan how to answer this question by looking things up, without changing anything:

<question>
{question}
</question>

Use only these tools, none of which changes anything:

{tools}

List the calls you would make, in order: the tool, its arguments, and what you expect to learn. Say
which later call depends on an earlier one. If these tools cannot answer the question, say what is
missing. Then make the calls, and give your answer with the source of each fact."""
REVIEW: Final = """\
Review this call before anybody makes it. Do not make it yourself.

Tool: {name} ({title})
{description}

What is to be written:

<write>
{write}
</write>

What the tool accepts, as JSON Schema properties: {arguments}

Answer in this order:
1. In one plain sentence: what will be different afterwards, where, and for whom.
2. Whether each value fits the tool, and which values are guesses.
3. What cannot be undone, and who would notice.
4. What should be looked up first, with which tool.
5. Your verdict: make it, change it, or do not make it. Then ask the person to decide."""
CHANGES: Final = "It changes something."
CHANGES_NOTHING: Final = "It changes nothing, so a review may not be needed."


def _tool_names(context: ToolContext, typed: str, _others: Mapping[str, str]) -> list[str]:
    names = [tool.name for tool in context.visible_tools()]
    return sorted(name for name in names if typed.lower() in name.lower())


@TOOLSET.prompt(
    title="Plan look-ups",
    description="Plan how to answer a question with read-only tools, then do it.",
    arguments=[
        Argument(
            "question",
            title="Question",
            description="What you want to know",
            required=True,
        )
    ],
)
def plan_lookups(context: ToolContext, arguments: Mapping[str, str]) -> Sequence[PromptMessage]:
    question = _text(arguments, "question")
    readers = [tool for tool in context.visible_tools() if not tool.mutates]
    tools = "\n".join(f"- {tool.name}: {tool.description}" for tool in readers)
    return [text_message(PLAN.format(question=question, tools=tools or "- (none)"))]


@TOOLSET.prompt(
    title="Review a write",
    description="Review a prepared call of a tool that writes, before it is made.",
    arguments=[
        Argument(
            "tool",
            title="Tool",
            description="The name of the tool that would be called",
            required=True,
            complete=_tool_names,
        ),
        Argument(
            "write",
            title="What is to be written",
            description="The arguments of the call, or a description in words",
            required=True,
        ),
    ],
)
def review_write(context: ToolContext, arguments: Mapping[str, str]) -> Sequence[PromptMessage]:
    tool = _visible(context, arguments["tool"])
    hint = CHANGES if tool.mutates else CHANGES_NOTHING
    review = REVIEW.format(
        name=tool.name,
        title=tool.title,
        description=f"{tool.description} {hint}",
        write=_text(arguments, "write"),
        arguments=", ".join(tool.input_schema.get("properties", {})) or "none",
    )
    return [text_message(review)]


def plan_form(tools: str) -> str:
    """The text of `plan_lookups` with these tools, for a skill."""
    return PLAN.format(question="[What the person wants to know]", tools=tools)


def review_form() -> str:
    """The text of `review_write` to be filled in, for a skill."""
    return REVIEW.format(
        name="[name]",
        title="[title]",
        description="[What the tool does]",
        write="[The arguments of the call]",
        arguments="[the names of its arguments]",
    )


def _visible(context: ToolContext, name: str) -> VisibleTool:
    found = next((tool for tool in context.visible_tools() if tool.name == name), None)
    if found is None:
        # Unknown and not visible look alike.
        raise ValidationFailure(
            "This tool does not exist or is not available to you.",
            field="tool",
            reason="must be a tool that is available to you",
        )
    return found


def _text(arguments: Mapping[str, str], name: str) -> str:
    text = arguments[name].strip()
    if not 0 < len(text) <= MAX_TEXT_LENGTH:
        why = f"must be 1 to {MAX_TEXT_LENGTH} characters"
        raise ValidationFailure("The text is empty or too long.", field=name, reason=why)
    return text
