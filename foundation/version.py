"""The version of the product: in the lines of a start, in footers and in the manifest of a back-up.

`pyproject.toml` has the same one, and `tests/architecture/test_version.py` compares them.
"""

from typing import Final

VERSION: Final = "1.1.0.dev0"
PRODUCT: Final = f"Halo MCP {VERSION}"
