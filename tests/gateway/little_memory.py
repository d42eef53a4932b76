"""The process that reads documents, with little memory."""

import sys

from foundation import limited_process
from gateway.openapi import process

if __name__ == "__main__":
    limited_process.MAX_MEMORY = 96 * 1_048_576  # type: ignore[misc]  # Final
    process.main(sys.argv[1:])
