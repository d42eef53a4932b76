"""How a data tool is declared, and how long a call of it may take."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Final, TypeAlias

from django.conf import settings

from data_tools.query import call as calls
from data_tools.query import results
from data_tools.query.call import DataToolCall
from foundation.db.time_limit import TimeLimitExceeded, time_limit
from tools_registry.api import (
    Arguments,
    Facts,
    Run,
    Schema,
    ToolContext,
    ToolFailure,
    Toolset,
    ValidationFailure,
)
from workspace.access import CannotNarrow

Answer: TypeAlias = Callable[[DataToolCall], Facts]

WHOLE_WORKSPACE: Final = (
    "This tool reads the whole workspace and cannot be limited to one customer. "
    "Call it without a bound customer."
)


class TookTooLong(ToolFailure):
    """The call took longer than HALO_DATA_SECONDS."""

    kind = "timeout"

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The call took longer than {seconds} seconds. Use a shorter period or more filters.",
            reason=self.kind,
        )


def data_tool(
    toolset: Toolset,
    *,
    title: str,
    description: str,
    arguments: Mapping[str, Schema],
    required: Sequence[str] = (),
    result: Schema = results.LISTING,
    app: str = "",
) -> Callable[[Answer], Run]:
    """Declares the decorated function as a tool that reads and changes nothing.

    `arguments` are the properties of its input schema, `result` is its output schema and `app`
    the app that shows results.
    """
    schema: dict[str, object] = {"type": "object", "properties": dict(arguments)}
    if required:
        schema["required"] = list(required)
    declared = toolset.tool(
        title=title,
        description=description,
        input_schema={**schema, "additionalProperties": False},
        output_schema=result,
        read_only=True,
        is_lenient=True,
        reads_text=True,
        app=app,
    )
    defaults = {name: one["default"] for name, one in arguments.items() if "default" in one}

    def declare(answer: Answer) -> Run:
        @wraps(answer)
        def run(context: ToolContext, given: Arguments) -> Facts:
            try:
                with time_limit(settings.HALO_DATA_SECONDS):
                    return answer(calls.build_call(answer.__name__, context, given, defaults))
            except CannotNarrow:
                raise ValidationFailure(WHOLE_WORKSPACE, reason=WHOLE_WORKSPACE) from None
            except TimeLimitExceeded:
                raise TookTooLong(settings.HALO_DATA_SECONDS) from None

        return declared(run)

    return declare
