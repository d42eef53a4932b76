"""The settings that a process would have with other environment variables, built in this one."""

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any
from unittest import mock

SETTINGS = "halo_mcp.settings"
GROUPS = "halo_mcp.setting_groups"


def build(**variables: str) -> Mapping[str, Any]:
    """Returns all settings by name; the process keeps its own. Raises what a start would."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("HALO_") or name == "HALO_DATA_DIR"
    }
    with mock.patch.dict(os.environ, kept | variables, clear=True), _modules_apart():
        built = importlib.import_module(SETTINGS)
        return {name: getattr(built, name) for name in dir(built) if name.isupper()}


@contextmanager
def _modules_apart() -> Iterator[None]:
    """Imports the modules of settings again, and puts those of the process back."""
    before = {name: module for name, module in sys.modules.items() if _is_of_settings(name)}
    parents: dict[str, ModuleType] = {
        name: getattr(sys.modules["halo_mcp"], name)
        for name in ("settings", "setting_groups")
        if hasattr(sys.modules["halo_mcp"], name)
    }
    for name in before:
        del sys.modules[name]
    try:
        yield
    finally:
        for name in [name for name in sys.modules if _is_of_settings(name)]:
            del sys.modules[name]
        sys.modules.update(before)
        for name, module in parents.items():
            setattr(sys.modules["halo_mcp"], name, module)


def _is_of_settings(name: str) -> bool:
    return name == SETTINGS or name.split(".")[:2] == GROUPS.split(".")
