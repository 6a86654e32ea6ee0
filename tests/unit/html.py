"""Reads a page strictly enough to see what a browser would silently repair."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Final

VOID: Final = frozenset({"meta", "link", "input", "br", "img", "hr", "wbr"})
# SVG shapes that are written as <path ... /> count as closed.


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.faults: list[str] = []
        self.ids: list[str] = []
        self.titles: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._attributes(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._attributes(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> at {self.getpos()} closes something else")

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def _attributes(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "style" or name.startswith("on"):
                self.faults.append(f"<{tag} {name}> at {self.getpos()}: the Content-Security-Policy forbids it")
            if name == "id":
                self.ids.append(value or "")
            if name == "title":
                self.titles.append(value or "")
        if tag == "script" and not dict(attrs).get("src"):
            self.faults.append(f"an inline script at {self.getpos()}")


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    reader.faults += [f"<{tag}> is never closed" for tag in reader.open]
    reader.faults += [f"id {i!r} twice" for i in {i for i in reader.ids if reader.ids.count(i) > 1}]
    return reader
