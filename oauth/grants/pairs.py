"""A pair of tokens in clear text: their format, and the response that contains them."""

from dataclasses import dataclass
from typing import Final

from foundation import ids
from oauth.scopes import ScopeSet

ACCESS: Final = "halo_at_"
REFRESH: Final = "halo_rt_"
RANDOM_CHARACTERS: Final = 43  # 256 bits, base64url without padding


@dataclass(frozen=True, slots=True, repr=False)
class Pair:
    """An access and a refresh token in clear text, returned to the client once."""

    access: str
    refresh: str
    scope: ScopeSet
    expires_in: int
    """Seconds that the access token has left."""

    def __repr__(self) -> str:
        return f"<Pair {self.scope}>"

    def body(self) -> dict[str, object]:
        """Returns the token endpoint's response (RFC 6749 section 5.1)."""
        return {
            "access_token": self.access,
            "token_type": "Bearer",
            "expires_in": self.expires_in,
            "refresh_token": self.refresh,
            "scope": str(self.scope),
        }


def draw(scope: ScopeSet, *, expires_in: int) -> Pair:
    """Creates two tokens; they are valid once their hashes are stored."""
    return Pair(ids.opaque(ACCESS), ids.opaque(REFRESH), scope, expires_in)


def looks_like(prefix: str, value: str) -> bool:
    """Returns whether text has the prefix and length of a token; a stored hash has not."""
    return value.startswith(prefix) and len(value) == len(prefix) + RANDOM_CHARACTERS
