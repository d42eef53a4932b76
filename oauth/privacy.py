"""Names that teammates give to keys and tokens, which may name a customer."""

from typing import Final

from oauth.models import McpToken, ServerKey
from workspace.privacy.text_columns import TextColumns

NAMES: Final = (
    TextColumns("api_keys", ServerKey, texts=("name",)),
    TextColumns("tokens", McpToken, texts=("name",)),
)
