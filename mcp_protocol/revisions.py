"""The revisions of the protocol that this server supports, oldest first."""

from enum import StrEnum
from typing import Final


class Revision(StrEnum):
    """A dated revision of the Model Context Protocol; the value is its version string."""

    V2024_11_05 = "2024-11-05"
    V2025_03_26 = "2025-03-26"
    V2025_06_18 = "2025-06-18"
    V2025_11_25 = "2025-11-25"
    V2026_07_28 = "2026-07-28"


REVISIONS: Final[tuple[Revision, ...]] = tuple(Revision)

# The two eras of MCP 2026-07-28, basic/versioning: legacy revisions open with `initialize`,
# modern ones carry version and capabilities in every request.
HANDSHAKE: Final[tuple[Revision, ...]] = (
    Revision.V2024_11_05,
    Revision.V2025_03_26,
    Revision.V2025_06_18,
    Revision.V2025_11_25,
)
MODERN: Final[tuple[Revision, ...]] = (Revision.V2026_07_28,)

# The revision of a request without a version header (MCP 2025-06-18, basic/transports, Protocol
# Version Header).
UNDECLARED: Final = Revision.V2025_03_26

_POSITION: Final = {revision: position for position, revision in enumerate(REVISIONS)}
BY_TEXT: Final[dict[str, Revision]] = {revision.value: revision for revision in REVISIONS}


def find(text: str) -> Revision | None:
    """Returns the revision with exactly this version string, or None if it is not supported."""
    return BY_TEXT.get(text)


def revisions_since(minimum: Revision) -> tuple[Revision, ...]:
    """Returns the named revision and all later ones, oldest first."""
    return REVISIONS[_POSITION[minimum] :]


def answer_to_initialize(asked: str) -> Revision:
    """Returns the revision of the response to `initialize`: the requested or the newest legacy one.

    A modern revision has no handshake, so it cannot be negotiated in one. Source: MCP 2025-11-25,
    basic/lifecycle, Version Negotiation.
    """
    revision = find(asked)
    return revision if revision in HANDSHAKE else HANDSHAKE[-1]
