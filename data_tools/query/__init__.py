"""What the data tools share. A tool is a function of a `DataToolCall` that returns `Facts`:

    TOOLSET: Final = Toolset(scope="data:read", title="Tickets")

    @data_tool(
        TOOLSET,
        title="Search tickets",
        description="...",
        arguments={**QUERY, "status": choice("any", "open"), **USER, **time_of("all_time"), **PAGE},
    )
    def data_search_tickets(call: DataToolCall) -> Facts:
        filters = Filters(call)
        filters.add_equal("status", "status", unless="any")
        if user := who.find_row(call, who.USERS):
            filters.add("user", Q(customer=user.pk), shown=who.reference(user))
        return listing.answer(call, Listing(rows=access.tickets(call.access), ...))

Arguments (`arguments`): fragments of schemas, each a mapping to spread: QUERY, USER, COMPANY,
AGENT, time_of(default), PAGE, RANK, DETAIL; and text, choice, integer and number for single ones.
A `default` in a schema is in `call.arguments` if the caller left the argument out. The first value
of `choice` is its default.

`DataToolCall` (`call`): the arguments, the `Access` (bound to a customer or not), the organization,
its zone, and the time of the call. `call.when(time)` and `call.text(words)` prepare values for
results.

Periods (`periods`): `periods.from_call(call)` reads period, from and to. `q(model, column, zone)`
of a `QueryPeriod` is the filter, and `describe(call, column)` what results show. A listing does all
by itself.

Names (`who`): `who.find_row(call, who.USERS)` is the row that `user` names, or None without one; it
raises ValidationFailure with candidates. `who.look_up` returns them instead.

Listings (`listing`): `answer` filters, counts, pages, groups and explains empty results. Results of
another form are made by `results.answer`, which drops what is empty and cleans text.

Refusals: `invalid_argument(field, reason)`. `workspace.access.CannotNarrow` becomes a refusal by
itself.
"""

from data_tools.query.arguments import (
    AGENT,
    COMPANY,
    DETAIL,
    PAGE,
    QUERY,
    RANK,
    USER,
    choice,
    filter_choice,
    integer,
    number,
    optional_choice,
    text,
    time_of,
)
from data_tools.query.call import DataToolCall, invalid_argument
from data_tools.query.declaring import data_tool
from data_tools.query.filters import Filters
from data_tools.query.groups import Grouping
from data_tools.query.listing import Listing, RowOrder
from data_tools.query.periods import QueryPeriod

__all__ = [
    "AGENT",
    "COMPANY",
    "DETAIL",
    "PAGE",
    "QUERY",
    "RANK",
    "USER",
    "DataToolCall",
    "Filters",
    "Grouping",
    "Listing",
    "QueryPeriod",
    "RowOrder",
    "choice",
    "data_tool",
    "filter_choice",
    "integer",
    "invalid_argument",
    "number",
    "optional_choice",
    "text",
    "time_of",
]
