"""Table rows as HTML: of a list in which one row has changed, that one is rendered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
from django.template.loader import get_template

from dradash.web.carry import carry

KEPT: Final = 4096  # rows, of 1 to 3 kB
MAX_AGE: Final = 3.0  # seconds that a row is shown again: the ages in it grow meanwhile


class Row(msgspec.Struct, frozen=True):
    """A table row that is sent on its own when it alone has changed. The template renders its cells."""

    id: str
    data: Any


class _Rendered(msgspec.Struct, frozen=True):
    at: float
    data: Any
    html: str


class RowRenderer:
    """Keeps what it has rendered for as long as the ages in it may be shown; several threads may ask.

    A row is compared, not looked up by its data: presenters' structs need not be hashable.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: dict[tuple[str, str, str, tuple[tuple[str, str], ...]], _Rendered] = {}

    def html(self, template: str, page: str, rows: Sequence[Row], carried: Mapping[str, str]) -> dict[str, str]:
        """The rows' inner HTML by id, as of now. page: what tells apart pages whose rows of one id are not one row."""
        now, words = self._clock(), tuple(carried.items())
        if len(self._known) > KEPT:
            self._known = {}
        known, found = self._known, {}  # another thread may begin a new one, or put in other rows meanwhile
        changed = []
        for row in rows:
            last = known.get((template, page, row.id, words))
            if last is not None and now - last.at <= MAX_AGE and last.data == row.data:
                found[row.id] = last.html
            else:
                changed.append(row)
        made = render(template, changed, carried, None) if changed else {}
        for row in changed:
            known[template, page, row.id, words] = _Rendered(now, row.data, made[row.id])
        return {row.id: found.get(row.id) or made[row.id] for row in rows}


def render(template: str, rows: Sequence[Row], carried: Mapping[str, str], moment: float | None) -> dict[str, str]:
    """The rows' inner HTML by id. moment: what ages count to, in Unix seconds; None: now."""
    made = get_template(template)
    return {r.id: carry(made.render({"row": r.data, "moment": moment}), carried) for r in rows}
