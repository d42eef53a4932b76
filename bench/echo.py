"""`./run bench echo`: tools/call of a made-up tool that asks no database, at four servers.

What is measured is all that happens around a tool. Options and exit status are those of
`./run bench`.
"""

import sys
from dataclasses import replace
from typing import Final

from bench import hotpath
from bench.contestants import EMPTY, EQUAL, FASTMCP, OURS_WITH_ECHO
from bench.hotpath import Suite
from bench.tools import ECHO
from bench.wires import HANDSHAKE

FULL: Final = replace(
    hotpath.FULL,
    calls=ECHO,
    switch="switch_off_action",
    layer="agent",
    kinds=(OURS_WITH_ECHO, EQUAL, EMPTY, FASTMCP),
)
QUICK: Final = replace(hotpath.quick(FULL), only={FASTMCP.name: (HANDSHAKE,)})
SUITE: Final = Suite("./run bench echo", __doc__, FULL, QUICK)

if __name__ == "__main__":
    sys.exit(hotpath.main(SUITE))
