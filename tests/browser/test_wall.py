"""A screen on a wall in Chromium: all of it is seen at once, is large, and keeps itself up to date."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from tests import build, builddevices, pages
from tests.browser.conftest import Site
from tests.browser.test_accessibility import violations
from tests.browser.test_layout import BROKEN, OUTSIDE
from tests.scene import Scene

Show = Callable[[Scene], Site]
WALL = "/?kiosk=1"
LISTS = ("/doctor", "/negotiations", "/pods", "/classes", "/nodes", "/claims", "/drivers", "/changes")
DEVICE_LISTS = ("/deviceclasses", "/pools", "/slices", "/devices")
LONG = "a-very-long-name-of-a-training-job-that-somebody-has-generated-7f9c6b5d4-x2x4z"

# What sticks out of its field or of the screen. Long names may end in dots, what has a place of its own may not.
CUT = """() => [...document.querySelectorAll('.wall .card *')].filter(e => {
  const box = e.getBoundingClientRect(), field = e.closest('li, .card').getBoundingClientRect()
  const whole = e.matches('li, .card, dl, ul, ol, p:not(.wall-sentence)')
  const tall = whole && e.scrollHeight > e.clientHeight + 1
  const dots = e.matches('.wall-tiles a, .wall-for, .chip') && e.scrollWidth > e.clientWidth + 1
  if (e.closest('.wall-name a')) return false
  return tall || dots || box.bottom > innerHeight || box.right > innerWidth
    || box.bottom > field.bottom + 1 || box.top < field.top - 1
}).map(e => e.outerHTML.slice(0, 120))"""
# Two texts on one another.
OVER = """() => [...document.querySelectorAll('.wall-pods > li')].filter(row => {
  const boxes = [...row.children].map(e => e.getBoundingClientRect())
  return boxes.some((box, i) => i && box.left < boxes[i - 1].right)
}).length"""
SMALL = """() => [...document.querySelectorAll('.wall *, .top *, .data-age')]
  .filter(e => e.checkVisibility() && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
  .filter(e => !e.closest('.sr'))
  .map(e => [parseFloat(getComputedStyle(e).fontSize) / innerHeight, e.textContent.trim()])
  .filter(([size]) => size < 0.0175)"""


def make_scene() -> Scene:
    """More than has room, with long names."""
    scene = pages.scene()
    scene.put(*(build.pod(f"{LONG}-{i}", f"team-{i}", claims={"gpu": "missing"}) for i in range(12)))
    scene.put(*(build.pod(f"job-{i}", "ml", claims={"gpu": "train-gpu"}) for i in range(4)))
    return scene


@pytest.mark.parametrize(("width", "height"), [(1920, 1080), (1366, 768), (3840, 2160), (1080, 1920)])
def test_everything_is_seen_at_once(browser: Browser, show: Show, width: int, height: int) -> None:
    site = show(make_scene())
    site.scene.web.doctor.look()
    page = site.open(browser, WALL, viewport={"width": width, "height": height})
    assert page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]") == [
        width,
        height,
    ]
    assert (page.evaluate(CUT), page.evaluate(OVER)) == ([], 0)
    expect(page.locator(".wall-pods > li")).to_have_count(8)
    expect(page.locator(".wall-more")).to_be_in_viewport()
    assert site.complaints == []
    page.close()


def test_nothing_is_small(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    site.scene.web.doctor.look()
    page = site.open(browser, WALL, viewport={"width": 1920, "height": 1080})
    assert page.evaluate(SMALL) == []
    for part in (".sections", ".foot", ".search-open", "#timeline", ".copy"):
        expect(page.locator(part).first).to_be_hidden()
    page.close()


def test_axe_finds_nothing_in_either_theme_nor_on_a_phone(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    site.scene.web.doctor.look()
    page = site.open(browser, WALL, viewport={"width": 1920, "height": 1080})
    for width in (1920, 390):
        page.set_viewport_size({"width": width, "height": 1080})
        for theme in ("light", "dark"):
            page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
            assert violations(page) == [], (theme, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_counts_pods_and_findings_come_by_themselves_in_their_places(browser: Browser, show: Show) -> None:
    site = show(pages.scene())
    site.scene.web.doctor.look()
    page = site.open(browser, WALL, viewport={"width": 1920, "height": 1080})
    pending = page.locator("#counts dd").first
    expect(pending).to_have_text("2")
    places = "() => [...document.querySelectorAll('.wall .card')].map(e => JSON.stringify(e.getBoundingClientRect()))"
    before = page.evaluate(places)
    site.scene.put(build.pod("another", "ml", claims={"gpu": "absent"}, created="2026-11-30T01:00:00Z"))
    expect(pending).to_have_text("3")
    expect(page.locator(".wall-pods .wall-name").first).to_have_text("ml/another")
    site.scene.web.doctor.look()
    expect(page.locator("#worst")).to_contain_text("ml/absent does not exist")
    assert page.evaluate(places) == before
    page.close()


def test_a_wall_that_is_not_live_any_more_is_seen_to_be(browser: Browser, show: Show) -> None:
    site = show(pages.scene())
    page = site.open(browser, WALL, viewport={"width": 1920, "height": 1080})
    colour = "getComputedStyle(document.querySelector('.top')).backgroundColor"
    before = page.evaluate(colour)
    site.stop()
    expect(page.locator("#live-state")).to_contain_text("not live")
    assert page.evaluate(colour) != before
    page.close()


# How many rows are seen, once all of them fit and one more would not; else 0.
FILLED = """() => {
  const rows = [...document.querySelectorAll('#list tbody tr')], seen = rows.filter(row => !row.hidden).length
  const fits = () => document.documentElement.scrollHeight <= innerHeight
  if (!fits()) return 0
  if (seen === rows.length) return seen
  rows[seen].hidden = false
  const more = fits()
  rows[seen].hidden = true
  return more ? 0 : seen
}"""


def devices(name: str, count: int) -> build.Obj:
    return builddevices.resource_slice(*(builddevices.device(f"{name}-{i:02}") for i in range(count)), pool=name)


def filled(page: Page, total: int) -> int:
    """How many rows are seen: as many as fit, and as the line below says."""
    seen = page.wait_for_function(FILLED).json_value()
    expect(page.locator("#list .pager > span").first).to_contain_text(f"1\N{EN DASH}{seen} of {total}")
    expect(page.locator("#list tbody tr:visible").last).to_be_in_viewport(ratio=1)
    return int(seen)


@pytest.mark.parametrize(("path", "fewest"), [("/devices?kiosk=1", 10), ("/pods?kiosk=1", 6)])
def test_a_list_fills_the_wall_whatever_its_size(browser: Browser, show: Show, path: str, fewest: int) -> None:
    scene = pages.scene()
    scene.put(*(build.pod(f"job-{i:02}", "ml", claims={"gpu": "train-gpu"}) for i in range(50)))
    scene.put(devices("first", 50))
    site = show(scene)
    page = site.open(browser, path, viewport={"width": 1920, "height": 1080})
    total = int((page.locator("#list .pager > span").first.text_content() or "").rpartition(" of ")[2])
    seen = filled(page, total)
    assert seen >= fewest
    for width, height in ((1366, 768), (3840, 2160), (1080, 1920), (1920, 1080)):
        page.set_viewport_size({"width": width, "height": height})
        there = filled(page, total)
        assert there > (seen if height > width else fewest - 3), (width, height)
    scene.put(devices("second", 3), *(build.pod(f"more-{i}", "ml", claims={"gpu": "train-gpu"}) for i in range(3)))
    expect(page.locator("#list .pager > span").first).to_contain_text(f"of {total + 3}")
    assert filled(page, total + 3) >= fewest
    page.set_viewport_size({"width": 700, "height": 900})
    expect(page.locator("#list tbody tr:visible")).to_have_count(40)
    assert site.complaints == []
    page.close()


def test_a_short_list_on_a_wall_is_there_whole(browser: Browser, show: Show) -> None:
    site = show(pages.scene())
    page = site.open(browser, "/pods?kiosk=1", viewport={"width": 1920, "height": 1080})
    assert filled(page, 2) == 2
    page.close()


def test_the_line_of_a_pod_is_redrawn_where_it_is(browser: Browser, show: Show) -> None:
    site = show(pages.scene())
    page = site.open(browser, "/pods", viewport={"width": 1366, "height": 800})
    line = page.locator("tr", has_text="train").first.locator(".trail")
    place = """e => { const box = e.getBoundingClientRect(), cell = e.closest('td').getBoundingClientRect()
      return [box.width, box.height, Math.round(cell.right - box.right), Math.round(box.top - cell.top)] }"""
    before, said = line.evaluate(place), line.get_attribute("aria-label") or ""
    assert "4 all the time" in said
    site.scene.put(build.node("node-0", labels={"zone": "a"}, unschedulable=True))
    expect(line).not_to_have_attribute("aria-label", said)
    assert line.evaluate(place) == before
    assert site.complaints == []
    page.close()


def test_no_other_page_sticks_out_of_a_wall(browser: Browser, show: Show) -> None:
    site = show(pages.scene())
    page = site.open(browser, WALL, viewport={"width": 1920, "height": 1080})
    for line in pages.served():
        page.goto(f"{site.url}{line.path}{'&' if '?' in line.path else '?'}kiosk=1")
        assert page.evaluate(OUTSIDE) == [], line.path
    page.close()


@pytest.mark.parametrize(("width", "height"), [(1920, 1080), (1366, 768)])
def test_an_objects_page_begins_with_its_verdict(browser: Browser, show: Show, width: int, height: int) -> None:
    site = show(pages.scene())
    page = site.open(browser, "/ns/ml/pods/train?kiosk=1", viewport={"width": width, "height": height})
    expect(page.locator(".headline")).to_be_in_viewport(ratio=1)
    expect(page.locator(".crumbs")).to_have_text("Pods / ml")
    expect(page.locator(".crumbs")).to_be_in_viewport(ratio=1)
    expect(page.locator(".on-paper")).to_be_hidden()
    assert (page.evaluate(OUTSIDE), page.evaluate(BROKEN)) == ([], [])
    assert page.locator(".pipeline").evaluate("e => e.scrollWidth - e.clientWidth") <= 0
    page.close()


@pytest.mark.parametrize(("width", "height"), [(1920, 1080), (1366, 768)])
def test_every_list_shows_what_fits_and_does_not_scroll(browser: Browser, show: Show, width: int, height: int) -> None:
    scene = make_scene()
    for i in range(12):
        talk = build.pod(f"talk-{i}", "ml", claims={"gpu": "train-gpu"})
        scene.put(
            talk,
            build.node(f"worker-{i}"),
            build.resource_class(f"class-{i}", driver=f"d-{i}"),
            build.claim(f"claim-{i}", "ml"),
        )
        scene.put(build.context(talk, potential=["node-0"], selected="node-0"))
    site = show(scene)
    site.scene.web.doctor.look()
    page = site.open(browser, "/pods?kiosk=1", viewport={"width": width, "height": height})
    for path in (
        "/doctor",
        "/negotiations",
        "/pods",
        "/classes",
        "/nodes",
        "/claims",
        "/drivers",
        "/changes",
        *DEVICE_LISTS,
    ):
        page.goto(f"{site.url}{path}?kiosk=1")
        page.wait_for_selector('#live-state[data-state="live"]')
        size = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
        assert (size, page.evaluate(OUTSIDE), page.evaluate(BROKEN)) == ([width, height], [], []), path
        rows = page.locator("#list tbody tr:visible")
        assert rows.count() >= (1 if path in DEVICE_LISTS else 3), path
        expect(rows.last).to_be_in_viewport(ratio=1)
        assert not page.locator(".foot").is_visible(), path
        if path != "/changes":
            assert f"\N{EN DASH}{rows.count()} of " in (page.locator("#list .pager").text_content() or ""), path
    page.close()
