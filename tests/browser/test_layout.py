"""Layout on a phone and on a small screen: nothing is cut, names stay whole, the current section is to be seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests import build
from tests.browser.conftest import Site
from tests.scene import Scene

Show = Callable[[Scene], Site]
TRAIN = build.pod("train", "ml", claims={"gpu": "gpu"})
LONG = "accelerators.of.a.far.example.com"
PAGES = (
    "/",
    "/claims",
    "/negotiations",
    "/nodes",
    "/nodes/node-1",
    "/classes",
    "/drivers",
    "/ns/ml/negotiations/train",
)

# What sticks out of its scrolling box, or out of the page.
OUTSIDE = """() => [...document.querySelectorAll('.scroll'), document.documentElement]
  .filter(e => e.checkVisibility())
  .map(e => e.scrollWidth - e.clientWidth).filter(over => over > 1)"""
# Names that are on more than one line.
CUT = """() => [...document.querySelectorAll('.fits > a')]
  .filter(a => a.getClientRects().length > 1).map(a => a.textContent)"""
# Cells whose label lies over their text.
COVERED = """() => [...document.querySelectorAll('.rows td[data-label]')].filter(cell => {
  const label = getComputedStyle(cell, '::before')
  return label.position === 'absolute' && label.display !== 'none'
    && parseFloat(label.width) > parseFloat(getComputedStyle(cell).paddingLeft) + 1
}).map(cell => cell.dataset.label)"""


def make_scene() -> Scene:
    scene = Scene(
        *build.nodes(3),
        build.resource_class(),
        build.resource_class("gpu.example.com", driver="gpu.example.com"),
        build.resource_class(LONG, driver=LONG),
        TRAIN,
        build.claim("gpu", "ml", resource_class="gpu.example.com"),
        build.claim("far", "ml", resource_class=LONG, allocation=build.allocation("node-1"), driver=LONG),
    )
    scene.put(build.context(TRAIN, potential=["node-0", "node-1"], selected="node-0"))
    return scene


@pytest.fixture(params=[390, 1366], ids=lambda width: f"{width}px")
def site(request: pytest.FixtureRequest, browser: Browser, show: Show) -> Iterator[tuple[Site, Page]]:
    made = show(make_scene())
    page = made.open(browser, "/", viewport={"width": request.param, "height": 800})
    yield made, page
    page.close()


def test_nothing_sticks_out_and_no_short_name_is_broken(site: tuple[Site, Page]) -> None:
    made, page = site
    for path in PAGES:
        page.goto(made.url + path)
        found = {what: page.evaluate(script) for what, script in (("out", OUTSIDE), ("cut", CUT), ("over", COVERED))}
        assert found == {"out": [], "cut": [], "over": []}, path
        assert page.locator("h1, .totals").count(), path


def test_the_current_section_is_to_be_seen(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    page = site.open(browser, "/changes", viewport={"width": 390, "height": 800})
    current = page.locator(".sections [aria-current]").bounding_box()
    assert current is not None
    assert current["x"] >= 0
    assert current["x"] + current["width"] <= 390
    page.close()


def test_everything_on_a_wall_screen_grows_alike(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    page = site.open(browser, "/pods", viewport={"width": 1366, "height": 800})
    sizes = """() => ['.chip', '.rows td', '.sentence']
      .map(s => parseFloat(getComputedStyle(document.querySelector(s)).fontSize))"""
    plain = page.evaluate(sizes)
    page.goto(f"{site.url}/pods?kiosk=1")
    assert page.evaluate(sizes) == [size * 1.25 for size in plain]
    assert page.evaluate(OUTSIDE) == []
    page.close()
