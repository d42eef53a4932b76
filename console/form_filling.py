"""Puts what was entered in a form back into the HTML of its page.

The page is the one that its view renders, with nothing but the values of one form replaced. So each
form of the console and of Django's admin is filled in the same way, without code of its own.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser
from typing import Final
from urllib.parse import urldefrag, urljoin

from foundation import stale_forms

Attributes = Mapping[str, str | None]
# Returns the label of a value of a select whose choices a script loads; None for no such value.
FindLabel = Callable[[Attributes, str], str | None]

BUTTONS: Final = frozenset({"submit", "button", "image", "reset"})
BOXES: Final = frozenset({"checkbox", "radio"})
# Never filled: a password is not kept, and a browser takes no file from a page.
UNFILLABLE: Final = frozenset({"password", "file"})
# Hidden fields that are filled: what the page had shown (foundation/stale_forms.py), and how many
# rows a table of the admin has. Others are as the page has them now.
FILLED_HIDDEN: Final = re.compile(rf"{stale_forms.FIELD}|\w+-TOTAL_FORMS")
MAX_NEW_ROWS: Final = 100
# An attribute of a form that its own view has filled already.
IS_FILLED: Final = "data-has-kept"
LOADED_BY_SCRIPT: Final = "admin-autocomplete"
# A row that Django's script adds to a table of the admin has a number in place of this.
NEW_ROW: Final = "__prefix__"
ROW_NAME: Final = re.compile(r"(?P<table>\w+)-(?P<number>\d{1,3})-")


@dataclass(frozen=True, slots=True)
class SentForm:
    """What was entered; `page` is where the form is shown and `action` where it is sent."""

    page: str
    action: str
    fields: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class FormNotice:
    """Whether the form is on its page, and what was entered that it has no place for."""

    is_found: bool
    unplaced: Sequence[tuple[str, str]]


@dataclass(slots=True)
class _Tag:
    name: str
    attributes: dict[str, str | None]
    start: int
    end: int
    close: int = 0  # where its end tag starts
    after: int = 0  # where its end tag ends

    def get(self, name: str) -> str:
        return self.attributes.get(name) or ""

    def write(self, **changed: str | None) -> str:
        """Returns the tag with attributes replaced; one that is None is left out."""
        given: dict[str, str | None] = {**self.attributes}
        for name, value in changed.items():
            if value is None:
                given.pop(name, None)
            else:
                given[name] = value
        texts = [
            name if value is None else f'{name}="{escape(value)}"' for name, value in given.items()
        ]
        return f"<{' '.join([self.name, *texts])}>"


@dataclass(slots=True)
class _Form:
    tag: _Tag
    controls: list[_Tag] = field(default_factory=list)

    def names(self) -> set[str]:
        return {one.get("name") for one in self.controls}


class _Page(HTMLParser):
    """Finds the forms of a page that are sent with POST, and where their controls are."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html, self.forms, self.main = html, list[_Form](), 0
        self.new_rows = list[_Tag]()
        self._lines = [0, *(found.end() for found in re.finditer("\n", html))]
        self._open = list[_Tag]()
        self._form: _Form | None = None
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        start = self._offset()
        found = _Tag(tag, dict(attrs), start, start + len(self.get_starttag_text() or ""))
        if tag == "main" or (found.get("id") == "content" and not self.main):
            self.main = found.end
        if tag == "form" and found.get("method").lower() == "post":
            self._form = _Form(found)
            self.forms.append(self._form)
        elif self._form is not None and tag in {"input", "textarea", "select", "option", "button"}:
            self._form.controls.append(found)
        if "empty-form" in found.get("class").split():
            self.new_rows.append(found)
        if tag != "input":
            self._open.append(found)

    def handle_endtag(self, tag: str) -> None:
        at = self._offset()
        while self._open and any(one.name == tag for one in self._open):
            found = self._open.pop()
            if found.name == tag:
                found.close, found.after = at, self.html.index(">", at) + 1
                break
        if tag == "form":
            self._form = None

    def _offset(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column


def fill(
    html: str, sent: SentForm, notice: Callable[[FormNotice], str], find_label: FindLabel
) -> str:
    """Returns the page with the form filled, and a notice above it.

    Without such a form, the notice is where the content of the page starts.
    """
    found = _Page(html)
    form = _find_form(found, sent)
    if form is not None and IS_FILLED in form.tag.attributes:
        place = form.tag.start
        return f"{html[:place]}{notice(FormNotice(is_found=True, unplaced=()))}{html[place:]}"
    if form is not None:
        html = _add_rows(html, found, form, sent.fields)
        found = _Page(html)
        form = _find_form(found, sent)
    filling = _Filling(sent.fields, find_label)
    edits = list(filling.edits(form)) if form is not None else []
    place = form.tag.start if form is not None else found.main
    edits.append((place, place, notice(FormNotice(form is not None, filling.find_unplaced()))))
    for start, end, text in sorted(edits, key=lambda one: one[:2], reverse=True):
        html = f"{html[:start]}{text}{html[end:]}"
    return html


def add_file_notes(html: str, sent: SentForm, write_note: Callable[[str], str]) -> str:
    """Returns the page of a form that was refused, with a note at each file that was sent with it.

    The fields of `sent` are the names of the files.
    """
    form = _find_form(_Page(html), sent)
    tags = form.controls if form is not None else []
    for tag in reversed([one for one in tags if one.get("type") == "file"]):
        notes = "".join(write_note(name) for name in sent.fields.get(tag.get("name"), ()))
        html = f"{html[: tag.end]}{notes}{html[tag.end :]}"
    return html


def _find_form(page: _Page, sent: SentForm) -> _Form | None:
    """Returns the form with that action; of several, the one that has most of what was sent."""
    same = [
        one
        for one in page.forms
        if urldefrag(urljoin(sent.page, one.tag.get("action"))).url == sent.action
    ]

    def count_shared(form: _Form) -> tuple[int, int]:
        hidden = [
            one
            for one in form.controls
            if one.get("type") == "hidden"
            and one.get("value") in sent.fields.get(one.get("name"), ())
        ]
        return len(form.names() & {*sent.fields}), len(hidden)

    return max(same, key=count_shared, default=None)


def _add_rows(html: str, page: _Page, form: _Form, fields: Mapping[str, Sequence[str]]) -> str:
    """Adds the rows that a script of Django's admin had added to the tables of a form."""
    names = form.names()
    matches = [ROW_NAME.match(name) for name in fields if name not in names]
    rows = sorted({(one["table"], int(one["number"])) for one in matches if one})[:MAX_NEW_ROWS]
    empty = {one.get("id").removesuffix("-empty"): one for one in page.new_rows if one.after}
    for table, tag in sorted(empty.items(), key=lambda one: one[1].start, reverse=True):
        template = html[tag.start : tag.after]
        added = [
            template.replace(NEW_ROW, str(number))
            .replace("empty-form", "", 1)
            .replace(f'"{table}-empty"', f'"{table}-{number}"', 1)
            for name, number in rows
            if name == table
        ]
        html = f"{html[: tag.start]}{''.join(added)}{html[tag.start :]}"
    return html


class _Filling:
    """Fills the controls of one form, and remembers what it had a place for."""

    def __init__(self, fields: Mapping[str, Sequence[str]], find_label: FindLabel) -> None:
        self.fields, self.find_label = fields, find_label
        self.left = {name: [*values] for name, values in fields.items()}
        self.known = set[str]()

    def edits(self, form: _Form) -> Iterator[tuple[int, int, str]]:
        select: _Tag | None = None
        for tag in form.controls:
            if "disabled" in tag.attributes:
                select = None if tag.name == "select" else select
            elif tag.name == "select":
                select = tag
                self.known.add(tag.get("name"))
                yield from self._loaded_options(form, tag)
            elif tag.name == "option" and select is not None:
                yield from self._option(select, tag)
            elif tag.name == "textarea":
                text = self._take(tag.get("name"))
                if text is not None:
                    yield tag.end, tag.close, "\n" + escape(text)
            elif tag.name == "button" or tag.get("type") in BUTTONS:
                self.left.pop(tag.get("name"), None)
            elif tag.name == "input":
                yield from self._input(tag)

    def find_unplaced(self) -> list[tuple[str, str]]:
        """What the form has no control for, or no choice."""
        return [
            (name, value) for name, values in self.left.items() for value in values if value.strip()
        ]

    def _input(self, tag: _Tag) -> Iterator[tuple[int, int, str]]:
        kind, name = tag.get("type").lower() or "text", tag.get("name")
        if kind in UNFILLABLE:
            return
        if kind in BOXES:
            value = tag.attributes.get("value") or "on"
            is_on = value in self.fields.get(name, ())
            if is_on and value in self.left.get(name, ()):
                self.left[name].remove(value)
            yield tag.start, tag.end, tag.write(checked="" if is_on else None)
        elif kind != "hidden" or FILLED_HIDDEN.fullmatch(name):
            text = self._take(name)
            if text is not None:
                yield tag.start, tag.end, tag.write(value=text)
        else:
            self.left.pop(name, None)

    def _option(self, select: _Tag, tag: _Tag) -> Iterator[tuple[int, int, str]]:
        name, value = select.get("name"), tag.get("value")
        if name not in self.fields and "multiple" not in select.attributes:
            return
        is_on = value in self.fields.get(name, ())
        if is_on and value in self.left.get(name, ()):
            self.left[name].remove(value)
        yield tag.start, tag.end, tag.write(selected="" if is_on else None)

    def _loaded_options(self, form: _Form, select: _Tag) -> Iterator[tuple[int, int, str]]:
        """Adds the chosen options of a select that shows no other ones."""
        if LOADED_BY_SCRIPT not in select.get("class").split():
            return
        inside = range(select.end, max(select.close, select.end))
        shown = {one.get("value") for one in form.controls if one.start in inside}
        for value in [*self.left.get(select.get("name"), ())]:
            label = (
                None if not value or value in shown else self.find_label(select.attributes, value)
            )
            if label is not None:
                self.left[select.get("name")].remove(value)
                option = f'<option value="{escape(value)}" selected>{escape(label)}</option>'
                yield select.close, select.close, option

    def _take(self, name: str) -> str | None:
        values = self.left.get(name)
        return values.pop(0) if values else None
