"""The answer of a tool as people read it: sections of values, tables and records; and as JSON.

Values nest as they do in JSON, to a limit; the JSON below has what is left out.
"""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

from django.utils.translation import gettext as _

from console.ask.fields import to_label
from foundation.json_text import dumps, dumps_indented
from oauth import addresses
from tools_registry.api import Arguments, Blocks, Result

MAX_ROWS: Final = 100
MAX_COLUMNS: Final = 30
MAX_MEMBERS: Final = 60
MAX_DEPTH: Final = 3
MAX_TEXT: Final = 4_000
WIDE_TEXT: Final = 60  # characters, from which a column is wide
MAX_JSON: Final = 100_000
MAX_BLOCKS: Final = 20
# Smaller numbers may be years and positions.
SEPARATED_FROM: Final = 10_000
TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
# Of the envelope of the data tools: shown as sentences, and behind a button.
HINTS: Final = "hints"
NEXT: Final = "next_cursor"
ABOUT: Final = frozenset({"searched", "period"})
LAST: Final = 3


@dataclass(frozen=True, slots=True)
class Value:
    """A value in words: `kind` is text, time, reference, list, record or table.

    A time has `at`, which is shown in the reader's zone. A reference has a text and an id. A list
    has `items`, a record `pairs`, a table `columns` and `rows`. `is_cut` says that more
    than is shown is in the JSON.
    """

    kind: str
    text: str = ""
    id: str = ""
    at: datetime | None = None
    items: Sequence["Value"] = ()
    pairs: Sequence[tuple[str, "Value"]] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence["Value"]] = ()
    is_cut: bool = False

    @property
    def is_wide(self) -> bool:
        """Whether the value needs a wide column of a table."""
        if self.kind in {"text", "reference"}:
            return len(self.text) >= WIDE_TEXT
        return any(one.is_wide for one in (*self.items, *self.members))

    @property
    def members(self) -> list["Value"]:
        return [value for _name, value in self.pairs]


@dataclass(frozen=True, slots=True)
class AnswerSection:
    """A member of the answer under its name."""

    title: str
    value: Value


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The answer of a call. `json` is cut if `is_cut`; `cursor` is that of the next page."""

    notes: Sequence[str]
    sections: Sequence[AnswerSection]
    json: str
    is_cut: bool
    cursor: str


def from_result(result: Result) -> ToolAnswer:
    """Returns the answer that a result holds."""
    value = _blocks(result) if isinstance(result, Blocks) else result.value
    text = dumps_indented(value)
    shown = value if isinstance(value, Mapping) else {"result": value}
    hints, cursor = shown.get(HINTS), shown.get(NEXT)
    return ToolAnswer(
        notes=[str(one) for one in hints] if isinstance(hints, list) else [],
        sections=list(_sections(shown)),
        json=text[:MAX_JSON],
        is_cut=len(text) > MAX_JSON,
        cursor=cursor if isinstance(cursor, str) else "",
    )


def curl(tool: str, arguments: Arguments) -> str:
    """Returns the call as a command for a POSIX shell; $TOKEN is an access token."""
    params = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    lines = (
        f"curl -sS {shlex.quote(addresses.resource())}",
        '-H "Authorization: Bearer $TOKEN"',
        "-H 'Content-Type: application/json'",
        "-H 'Accept: application/json, text/event-stream'",
        f"-d {shlex.quote(dumps(body).decode())}",
    )
    return " \\\n  ".join(lines)


def _blocks(result: Blocks) -> Any:
    if result.structured is not None:
        return result.structured
    texts = (block.get("text", block) for block in islice(result.content, MAX_BLOCKS))
    return {"content": list(texts)}


def _sections(members: Mapping[str, Any]) -> Iterable[AnswerSection]:
    """Texts of several lines, records and lists, then what is said about the answer."""
    shown = {name: value for name, value in members.items() if name not in {HINTS, NEXT}}
    ordered = sorted(shown.items(), key=lambda member: _rank(*member))
    about = {name: value for name, value in ordered if _rank(name, value) == LAST}
    for name, value in ordered:
        if name not in about:
            yield AnswerSection(to_label(name), _value(value, 0))
    if about:
        yield AnswerSection(_("About this answer"), _record(about, 0))


def _rank(name: str, value: Any) -> int:
    if name in ABOUT:
        return LAST
    match value:
        case str() if "\n" in value.strip():
            return 0
        case Mapping():
            return 1
        case list():
            return 2
    return LAST


def _value(value: Any, depth: int) -> Value:
    match value:
        case Mapping() if value.keys() == {"id", "name"}:
            return Value("reference", text=_text(value["name"]), id=str(value["id"]))
        case Mapping() | list() if depth >= MAX_DEPTH and value:
            return Value("text", text=_text(dumps(value).decode()))
        case Mapping():
            return _record(value, depth)
        case list() if depth == 0 and value and all(isinstance(one, Mapping) for one in value):
            return _table(value)
        case list():
            items = [_value(one, depth + 1) for one in value[:MAX_ROWS]]
            return Value("list", items=items, is_cut=len(value) > MAX_ROWS)
    at = _read_time(value)
    return Value("text", text=_text(value)) if at is None else Value("time", at=at)


def _read_time(value: Any) -> datetime | None:
    """The moment that a text names, with its offset; None for anything else."""
    if not (isinstance(value, str) and TIME.fullmatch(value)):
        return None
    try:
        return datetime.fromisoformat(value).astimezone(UTC)
    except (ValueError, OverflowError):  # no such day, or one before the first
        return None


def _record(members: Mapping[str, Any], depth: int) -> Value:
    shown = islice(members.items(), MAX_MEMBERS)
    pairs = [(to_label(str(name)), _member(str(name), one, depth + 1)) for name, one in shown]
    return Value("record", pairs=pairs, is_cut=len(members) > MAX_MEMBERS)


def _table(rows: Sequence[Mapping[str, Any]]) -> Value:
    """A row for each item; the columns are the members of all of them, the first ones first."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = names[:MAX_COLUMNS]
    cells = [
        [_member(name, row[name], 1) if name in row else Value("text") for name in columns]
        for row in rows[:MAX_ROWS]
    ]
    titles = [to_label(str(name)) for name in columns]
    is_cut = len(rows) > MAX_ROWS or len(names) > MAX_COLUMNS
    return Value("table", columns=titles, rows=cells, is_cut=is_cut)


def _member(name: str, value: Any, depth: int) -> Value:
    """The value of a member; ids are shown as they are, to be entered again."""
    if isinstance(value, str | int) and (name == "id" or name.endswith("_id")):
        return Value("text", text=str(value))
    return _value(value, depth)


def _text(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return _("Yes") if value else _("No")
        case float() if value.is_integer():
            return _text(int(value))
        case int() | float() if abs(value) >= SEPARATED_FROM:
            return f"{value:,}"
    text = str(value)
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"
