"""Notices: a word from one process to whoever waits for it in any other.

`post("tools:<organization>")` says that something is different now; a coroutine that waits on its
process's `Board` wakes and looks for itself. A notice carries no content and may get lost or come
twice, so nobody may rely on it for more than promptness.
"""

from foundation.notices.board import Board, Ear, Listener
from foundation.notices.posting import Carrier, build_carrier, post

__all__ = ["Board", "Carrier", "Ear", "Listener", "build_carrier", "post"]
