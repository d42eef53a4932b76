"""Forms of pages, sent as a browser sends them: with what the page has shown."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

from django.test import Client

from foundation.stale_forms import FIELD


@dataclass
class PageForm:
    """One form: where it is sent, and what a browser sends for it; `kinds` are those of inputs."""

    action: str
    fields: dict[str, list[str]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    options: dict[str, list[str]] = field(default_factory=dict)

    def add(self, name: str, value: str | None, kind: str) -> None:
        self.kinds.setdefault(name, kind)
        if value is not None:
            self.fields.setdefault(name, []).append(value)


class _Forms(HTMLParser):
    """Collects the forms of a page that are sent with POST."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.page, self.found = page, list[PageForm]()
        self.form: PageForm | None = None
        self.select, self.is_multiple, self.text = "", False, ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form" and given.get("method", "").lower() == "post":
            self.form = PageForm(urljoin(self.page, given.get("action", "")))
            self.found.append(self.form)
        if self.form is None or (tag != "option" and not given.get("name")):
            return
        if tag in {"select", "textarea"} and "disabled" in given:
            return
        if tag == "input":
            self._input(self.form, given)
        elif tag == "select":
            self.select, self.is_multiple = given["name"], "multiple" in given
            self.form.add(self.select, None, "multiple" if self.is_multiple else "select")
        elif tag == "option" and self.select:
            self._option(self.form, given)
        elif tag == "textarea":
            self.text = given["name"]
            self.form.add(self.text, "", "textarea")

    def _input(self, form: PageForm, given: dict[str, str]) -> None:
        kind = given.get("type", "text")
        if "disabled" in given or kind in {"submit", "button", "file", "image"}:
            return
        is_box = kind in {"checkbox", "radio"}
        form.options.setdefault(given["name"], []).append(given.get("value", "on"))
        is_sent = not is_box or "checked" in given
        form.add(
            given["name"], given.get("value", "on" if is_box else "") if is_sent else None, kind
        )

    def _option(self, form: PageForm, given: dict[str, str]) -> None:
        offered = form.options.setdefault(self.select, [])
        is_first = not offered and not self.is_multiple
        offered.append(given.get("value", ""))
        if "selected" in given:
            form.fields[self.select] = [
                *(form.fields.get(self.select, []) if self.is_multiple else []),
                offered[-1],
            ]
        elif is_first:
            form.fields.setdefault(self.select, [offered[-1]])

    def handle_data(self, data: str) -> None:
        if self.text and self.form is not None:
            self.form.fields[self.text][-1] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.form = None
        elif tag == "select":
            self.select = ""
        elif tag == "textarea" and self.text:
            if self.form is not None:
                # The line break after the tag is not part of the value.
                self.form.fields[self.text][-1] = self.form.fields[self.text][-1].removeprefix("\n")
            self.text = ""


def forms_of(client: Client, page: str) -> list[PageForm]:
    """The forms of a page, in their order."""
    return forms_in(client.get(page), page)


def forms_in(answer: Any, page: str) -> list[PageForm]:
    """The forms of an answer with the address of its page."""
    found = _Forms(page)
    found.feed(b"".join(answer).decode())
    return found.found


def shown_values(client: Client, page: str, *, to: str = "") -> dict[str, str]:
    """The hidden field of the form that is sent to an address; empty for a page without one."""
    found = (
        form.fields[FIELD]
        for form in forms_of(client, page)
        if FIELD in form.fields and form.action == (to or page)
    )
    return {FIELD: next(found, [""])[0]}


def save(client: Client, page: str, given: Any, *, to: str = "", **more: Any) -> Any:
    """Opens a page and sends one of its forms, to the page's address or another."""
    return client.post(to or page, {**shown_values(client, page, to=to), **given}, **more)
