"""What the data tools share. A tool is a function of a `DataToolCall` that returns `Facts`:

    TOOLSET: Final = Toolset(scope="data:read", title="Tickets")

    @data_tool(TOOLSET, title="Search tickets", description="...")
    def data_search_tickets(
        call: DataToolCall,
        *,
        status: TicketStatus | Literal["any"] = "any",
        user: UserName | None = None,
        time: TimeRange = ALL_TIME,
        page: Page = PAGE,
    ) -> Facts:
        filters = Filters()
        filters.add_equal("status", status, unless="any")
        filters.add_row("user", who.find_row(call, who.USERS, user), "customer")
        return listing.answer(call, Listing(rows=access.tickets(call.access), ...), page, time)

Arguments (`arguments`): the parameters after the call (`tools_registry.api.signatures`). Shared
types are Query, UserName, CompanyName, AgentName, Name, Detail and PageSize; TimeRange and Page are
several arguments each; `text`, `one_of` and `number_limits` annotate others.

`DataToolCall` (`call`): the `Access` (bound to a customer or not), the organization, its zone, and
the time of the call. `call.when(time)` and `call.text(words)` prepare values for results, which are
longer with `call.with_detail(response_format)`.

Periods (`periods`): `periods.from_call(call, time)` reads period, from and to. `q(model, column,
zone)` of a `QueryPeriod` is the filter, and `describe(call, column)` what results show. A listing
does all by itself.

Names (`who`): `who.find_row(call, who.USERS, user)` is the row that a name names, or None without
one; it raises ValidationFailure with candidates. `who.look_up` returns them instead.

Listings (`listing`): `answer` filters, counts, pages, groups and explains empty results. Results of
another form are made by `results.answer`, which drops what is empty and cleans text.

Refusals: `invalid_argument(field, reason)`. `workspace.access.CannotNarrow` becomes a refusal by
itself.
"""

from data_tools.query.arguments import (
    ALL_TIME,
    LAST_7_DAYS,
    LAST_30_DAYS,
    PAGE,
    PAGE_OF_MESSAGES,
    AgentName,
    CompanyName,
    Detail,
    Name,
    Page,
    PageSize,
    Query,
    TimeRange,
    UserName,
    number_limits,
    one_of,
    text,
)
from data_tools.query.call import DataToolCall, invalid_argument
from data_tools.query.declaring import data_tool
from data_tools.query.filters import Filters
from data_tools.query.groups import Grouping
from data_tools.query.lifecycle import CompanyLifecycle, CustomerLifecycle
from data_tools.query.listing import Listing, RowOrder
from data_tools.query.periods import QueryPeriod

__all__ = [
    "ALL_TIME",
    "LAST_7_DAYS",
    "LAST_30_DAYS",
    "PAGE",
    "PAGE_OF_MESSAGES",
    "AgentName",
    "CompanyLifecycle",
    "CompanyName",
    "CustomerLifecycle",
    "DataToolCall",
    "Detail",
    "Filters",
    "Grouping",
    "Listing",
    "Name",
    "Page",
    "PageSize",
    "Query",
    "QueryPeriod",
    "RowOrder",
    "TimeRange",
    "UserName",
    "data_tool",
    "invalid_argument",
    "number_limits",
    "one_of",
    "text",
]
