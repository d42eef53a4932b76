"""A page as a tree of elements, read the way a browser would."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Element | str"] = field(default_factory=list)

    def all(self, tag: str = "", **wanted: str) -> list["Element"]:
        """Every element below of this tag with these attributes, in the page's order."""
        return [one for one in self._descendants() if one.tag == tag and one._has(wanted)]

    def one(self, tag: str, **wanted: str) -> "Element":
        (found,) = self.all(tag, **wanted)
        return found

    @property
    def text(self) -> str:
        parts = [one if isinstance(one, str) else one.text for one in self.children]
        return " ".join(" ".join(parts).split())

    def __iter__(self) -> Iterator["Element"]:
        return self._descendants()

    def _descendants(self) -> Iterator["Element"]:
        for child in self.children:
            if isinstance(child, Element):
                yield child
                yield from child._descendants()

    def _has(self, wanted: dict[str, str]) -> bool:
        given = {name.rstrip("_").replace("_", "-"): value for name, value in wanted.items()}
        return all(self.attributes.get(name) == value for name, value in given.items())


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID and self.open[-1].tag == tag:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def read(html: str | bytes) -> Element:
    """Read a page. Elements are left open only where the page forgot to close them."""
    reader = _Reader()
    reader.feed(html if isinstance(html, str) else html.decode())
    reader.close()
    assert len(reader.open) == 1, f"not closed: {[one.tag for one in reader.open[1:]]}"
    return reader.open[0]
