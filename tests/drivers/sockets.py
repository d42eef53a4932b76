"""Which TCP sockets a process holds, as Linux tells it in /proc."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LISTENS = "0A"  # TCP_LISTEN


@dataclass(frozen=True)
class Socket:
    """One socket: its local port, and that of its peer, 0 without one."""

    port: int
    peer: int
    listens: bool


def sockets_of(process: int) -> list[Socket]:
    """Those that the process holds now; none for one that has ended."""
    place = Path(f"/proc/{process}")
    held = set()
    with suppress(OSError):  # it has ended meanwhile
        for entry in (place / "fd").iterdir():
            with suppress(OSError):  # closed meanwhile
                held.add(str(entry.readlink()))
    lines: list[list[str]] = []
    for table in ("tcp", "tcp6"):
        with suppress(OSError):  # ended, or a machine without the newer protocol
            rows = (place / "net" / table).read_text().splitlines()[1:]
            lines += [row.split() for row in rows]
    # Columns: proc(5), /proc/net/tcp.
    return [
        Socket(_port(fields[1]), _port(fields[2]), fields[3] == LISTENS)
        for fields in lines
        if f"socket:[{fields[9]}]" in held
    ]


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)
