"""The tools that the measurements call, with the arguments of each call."""

from collections.abc import Mapping
from typing import Final

from bench.greeting import ARGUMENTS, GREETING

Calls = Mapping[str, Mapping[str, str]]

# The first answers from memory but for the organization's row, the second searches in the database.
SETUP_AND_DOCS: Final[Calls] = {
    "setup_get_jwt_sample": {"language": "python"},
    "search_docs": {"query": "How do I revoke a token?"},
}
CUSTOMER: Final = "maria@acme.example"
# Of the demo data.
DATA: Final[Calls] = {
    "data_find_user": {"user": CUSTOMER},
    "data_search_tickets": {"status": "unresolved"},
}
# Tools of the product.
SHIPPED: Final[Calls] = {**SETUP_AND_DOCS, **DATA}
# The tool of `./run bench echo`.
ECHO: Final[Calls] = {GREETING.tools[0].name: ARGUMENTS}
EVERY: Final[Calls] = {**SHIPPED, **ECHO}
