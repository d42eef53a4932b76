"""Tasks of the background worker, each declared beside the work it does.

The application that sends them is loaded with the first of them, so that no task ever goes to the
broker that Celery would choose for itself. Web processes send none and load neither: a fifteenth of
their memory.
"""

from importlib import import_module
from typing import Final

from celery import shared_task as task

__all__ = ["task"]

# By name: it stands above all that declare tasks.
APPLICATION: Final = "halo_mcp.celery"

import_module(APPLICATION)
