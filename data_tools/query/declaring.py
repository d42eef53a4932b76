"""How a data tool is declared, and how long a call of it may take."""

from collections.abc import Callable
from functools import wraps
from typing import Final, TypeVar

from django.conf import settings

from data_tools.query import call as calls
from data_tools.query import results
from foundation.db.time_limit import TimeLimitExceeded, time_limit
from tools_registry.api import (
    Arguments,
    Facts,
    Result,
    Schema,
    ToolContext,
    ToolFailure,
    Toolset,
    ValidationFailure,
    read_signature,
)
from workspace.access import CannotNarrow

Answer = TypeVar("Answer", bound=Callable[..., Facts])

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
    result: Schema = results.LISTING,
    app: str = "",
) -> Callable[[Answer], Answer]:
    """Declares the decorated function as a tool that reads and changes nothing.

    Its parameters after the call are the arguments. `result` is its output schema and `app` the
    app that shows results.
    """

    def declare(answer: Answer) -> Answer:
        signature = read_signature(answer)

        @toolset.tool(
            title=title,
            description=description,
            input_schema=signature.input_schema,
            output_schema=result,
            read_only=True,
            is_lenient=True,
            reads_text=True,
            app=app,
        )
        @wraps(answer)
        def run(context: ToolContext, given: Arguments) -> Result:
            try:
                with time_limit(settings.HALO_DATA_SECONDS):
                    call = calls.build_call(answer.__name__, context, given, signature.defaults)
                    return signature.run(call, **given)
            except CannotNarrow:
                raise ValidationFailure(WHOLE_WORKSPACE, reason=WHOLE_WORKSPACE) from None
            except TimeLimitExceeded:
                raise TookTooLong(settings.HALO_DATA_SECONDS) from None

        return answer

    return declare
