"""Names that teammates give to keys and tokens, which may name a customer."""

from typing import Final

from customers.privacy.text_columns import TextColumns
from oauth.models import McpToken, ServerKey

NAMES: Final = (
    TextColumns("api_keys", ServerKey, texts=("name",)),
    TextColumns("tokens", McpToken, texts=("name",)),
)
