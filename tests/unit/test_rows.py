"""Rows of lists, rendered when they have changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from dradash.web import rows
from dradash.web.rows import KEPT, MAX_AGE, Row, RowRenderer

TEMPLATE = "any/_row.html"


class Rendering:
    """Counts which rows are rendered, in place of a template."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rendered: list[str] = []
        self.now = 100.0
        self.rows = RowRenderer(lambda: self.now)
        monkeypatch.setattr(rows, "render", self._render)

    def _render(
        self, template: str, given: Sequence[Row], carried: Mapping[str, str], moment: float | None
    ) -> dict[str, str]:
        assert moment is None
        self.rendered += [r.id for r in given]
        return {r.id: f"{template} {r.data} {dict(carried)}" for r in given}

    def __call__(
        self, *data: Any, page: str = "Pods", carried: Mapping[str, str] | None = None
    ) -> tuple[list[str], list[str]]:
        """The HTML of rows with this data, and which of them were rendered for it."""
        self.rendered = []
        html = self.rows.html(TEMPLATE, page, [Row(f"row-{i}", d) for i, d in enumerate(data)], carried or {})
        assert list(html) == [f"row-{i}" for i in range(len(data))], "in the order of the list"
        return list(html.values()), self.rendered


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch) -> Rendering:
    return Rendering(monkeypatch)


def test_a_row_is_rendered_again_when_it_has_changed_and_the_others_are_not(show: Rendering) -> None:
    assert show("a", "b")[1] == ["row-0", "row-1"]
    html, rendered = show("a", "c", "d")
    assert rendered == ["row-1", "row-2"]
    assert html == [f"{TEMPLATE} {d} {{}}" for d in "acd"]


def test_a_row_is_rendered_again_when_the_ages_in_it_are_old(show: Rendering) -> None:
    show("a")
    show.now += MAX_AGE
    assert show("a")[1] == []
    show.now += 0.1
    assert show("a")[1] == ["row-0"]


def test_what_the_links_of_a_page_carry_is_not_carried_by_anothers(show: Rendering) -> None:
    show("a")
    html, rendered = show("a", carried={"kiosk": "1"})
    assert (html, rendered) == ([f"{TEMPLATE} a {{'kiosk': '1'}}"], ["row-0"])
    assert show("a")[0] == [f"{TEMPLATE} a {{}}"]


def test_a_row_of_the_same_name_on_another_page_is_another_row(show: Rendering) -> None:
    show("fits", page="node-1")
    assert show("refused", page="node-2")[1] == ["row-0"]
    assert show("fits", page="node-1") == ([f"{TEMPLATE} fits {{}}"], []), "neither throws the other out"


def test_two_threads_that_render_the_same_row_get_each_its_own(
    show: Rendering, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another thread renders in the middle, of newer data, is not what was asked for."""
    rendered = show._render

    def interrupted(template: str, given: Sequence[Row], *rest: Any) -> dict[str, str]:
        html = rendered(template, given, *rest)
        if given[0].data == "older":
            monkeypatch.setattr(rows, "render", rendered)
            show.rows.html(template, "Pods", [Row("row-0", "newer"), Row("row-1", "b")], {})
        return html

    show("first", "b")
    monkeypatch.setattr(rows, "render", interrupted)
    assert show("older", "b")[0] == [f"{TEMPLATE} older {{}}", f"{TEMPLATE} b {{}}"]


def test_data_need_not_be_hashable(show: Rendering) -> None:
    assert show(["a"])[1] == ["row-0"]
    assert show(["a"])[1] == []
    assert show(["b"])[1] == ["row-0"]


def test_not_every_row_ever_shown_is_kept(show: Rendering) -> None:
    show(*range(KEPT + 1))
    assert show(0)[1] == ["row-0"], "begun anew"
