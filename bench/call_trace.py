"""Counts what the code of this repository does during one call, through profile functions.

Python calls a profile function (`sys.setprofile`) at every function call of its threads.
"""

import os
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, Final

from bench.servers import ROOT

PACKAGES: Final = frozenset(path.parent.name for path in ROOT.glob("*/__init__.py"))
# Data that does not carry the call from one module to the next: what a tool reads for its result,
# and the counters that a store of rate limits keeps.
OWN_DATA: Final = frozenset({"WidgetKeys", "Window"})
OWN_DATA_PACKAGES: Final = frozenset({"documentation"})
# Comprehensions are functions up to Python 3.11 only.
UNCOUNTED: Final = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
# What a thread of the pool does once it has handed over its result. It runs during the rest of the
# call, or after it, as the two threads happen to take turns.
AFTERWARDS: Final = frozenset({"ThreadPool._is_surplus", "ThreadPool._slow_jobs"})


@dataclass
class Trace:
    """What the code of this repository does during one call, in any thread."""

    modules: Counter[str] = field(default_factory=Counter)  # function calls, by first use
    functions: set[tuple[str, str, int]] = field(default_factory=set)
    changes: int = 0
    threads: set[int] = field(default_factory=set)
    objects: Counter[str] = field(default_factory=Counter)
    carriers: set[str] = field(default_factory=set)

    def note(self, frame: FrameType) -> None:
        """Count the function call that begins with this frame."""
        code = frame.f_code
        made = _data_type(frame)
        if made is not None:
            self.objects[made.__name__] += 1
            package = made.__module__.partition(".")[0]
            if made.__name__ not in OWN_DATA and package not in OWN_DATA_PACKAGES:
                self.carriers.add(made.__name__)
        module = _module(code.co_filename)
        if module is None or code.co_name in UNCOUNTED or code.co_qualname in AFTERWARDS:
            return
        self.modules[module] += 1
        self.functions.add((module, code.co_qualname, code.co_firstlineno))
        self.changes += module != _calling_module(frame)
        self.threads.add(threading.get_ident())

    def figures(self) -> Mapping[str, int]:
        return {
            "modules": len(self.modules),
            "functions": len(self.functions),
            "function calls": self.modules.total(),
            "module changes": self.changes,
            "threads": len(self.threads),
            "data objects": self.objects.total(),
            "data types": len(self.objects),
            "carrier types": len(self.carriers),
        }


@dataclass
class Profiler:
    """The profile function of every thread (`sys.setprofile`); idle without a trace."""

    trace: Trace | None = None

    def __call__(self, frame: FrameType, event: str, _given: object) -> None:
        trace = self.trace
        if trace is not None and event == "call" and not _is_resumed(frame):
            trace.note(frame)


@cache
def _module(file: str) -> str | None:
    """The module of this repository that a file is, by its name; None for any other file."""
    if not file.startswith(f"{ROOT}{os.sep}"):
        return None
    parts = Path(file).relative_to(ROOT).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__") if parts[0] in PACKAGES else None


def _calling_module(frame: FrameType) -> str | None:
    """The module of the nearest calling function of this repository in the same thread."""
    caller = frame.f_back
    while caller is not None:
        module = _module(caller.f_code.co_filename)
        if module is not None:
            return module
        caller = caller.f_back
    return None


def _is_resumed(frame: FrameType) -> bool:
    """Whether a generator or coroutine continues, which is a "call" to a profile function too.

    A frame begins at a RESUME instruction, whose argument is 0 at the start of a function (dis).
    """
    return bool(frame.f_code.co_code[frame.f_lasti + 1] & 3)


def _data_type(frame: FrameType) -> type | None:
    """The dataclass or NamedTuple of this repository that this frame makes an object of."""
    code = frame.f_code
    made: Any = None
    if code.co_name == "__init__" and code.co_argcount:
        made = type(frame.f_locals.get(code.co_varnames[0]))
        maker: Any = made.__init__
    elif code.co_varnames[:1] == ("_cls",):  # what collections.namedtuple writes
        made = frame.f_locals["_cls"]
        maker = made.__new__
    if made is None or made.__module__.partition(".")[0] not in PACKAGES:
        return None
    is_data = is_dataclass(made) or hasattr(made, "_fields")
    return made if is_data and maker.__code__ is code else None
