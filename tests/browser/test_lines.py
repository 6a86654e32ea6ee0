"""The small pictures in the rows of lists: redrawn where they are, told apart without colour, a table on the page."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, expect

from tests import build, pages
from tests.browser.conftest import Site

Show = Callable[..., Site]
PLACE = """e => { const box = e.getBoundingClientRect(), cell = e.closest('td').getBoundingClientRect()
  return [box.width, box.height, Math.round(box.left - cell.left), Math.round(box.top - cell.top), cell.height] }"""
CHANGED = {
    "/claims": (
        "train-gpu",
        build.claim(
            "train-gpu",
            pages.NAMESPACE,
            allocation=build.allocation("node-0"),
            ownerReferences=[build.owner(pages.TRAIN)],
        ),
    ),
    "/negotiations": (
        "train",
        build.context(pages.TRAIN, potential=pages.NODES, selected="node-0", unsuitable={"gpu": ["node-1", "node-2"]}),
    ),
    "/nodes": ("node-2", build.node("node-2", labels={"zone": "a"}, unschedulable=True)),
}


@pytest.mark.parametrize("width", [390, 1366])
@pytest.mark.parametrize("path", sorted(CHANGED))
def test_a_line_is_redrawn_where_it_is(browser: Browser, show: Show, path: str, width: int) -> None:
    name, changed = CHANGED[path]
    site = show(pages.scene())
    page = site.open(browser, path, viewport={"width": width, "height": 800})
    line = page.locator("tr", has_text=name).first.locator(".trail")
    before, said = line.evaluate(PLACE), line.get_attribute("aria-label") or ""
    assert (before[0] > 40, before[1] > 12) == (True, True)
    assert "all the time" in said
    site.scene.put(changed)
    expect(line).not_to_have_attribute("aria-label", said)
    after = line.evaluate(PLACE)
    assert after[:2] == before[:2]
    assert abs(after[3] - before[3]) <= 1, "what stands above it has the same height"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert site.complaints == []
    page.close()


def test_a_state_can_be_seen_by_its_height(browser: Browser, show: Show) -> None:
    site = show(pages.scene())
    page = site.open(browser, "/claims", viewport={"width": 1366, "height": 800})
    heights = {
        name: page.locator("tr", has=page.get_by_role("link", name=name, exact=True))
        .locator(".trail path")
        .first.evaluate("e => Math.round(e.getBBox().height)")
        for name in ("train-gpu", "held")
    }
    assert heights == {"train-gpu": 7, "held": 17}
    fill = page.locator(".trail path.span").first.evaluate("e => getComputedStyle(e).fill")
    assert fill not in ("none", "rgb(0, 0, 0)")
    page.close()


@pytest.mark.parametrize("path", ["/ns/ml/claims/held", "/ns/ml/negotiations/train", "/nodes/node-0"])
def test_the_objects_page_has_the_table_and_keeps_it_open(browser: Browser, show: Show, path: str) -> None:
    site = show(pages.scene())
    page = site.open(browser, path, viewport={"width": 1366, "height": 800})
    page.locator("#course-table > summary").click()
    expect(page.locator("#course-table td").first).to_be_visible()
    site.scene.put(CHANGED["/negotiations"][1], CHANGED["/nodes"][1])
    expect(page.locator("#course-table td").first).to_be_visible()
    assert site.complaints == []
    page.close()
