"""axe-core on every page, in both themes and at both widths; and that nothing moves by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests import build, builddevices, pages
from tests.browser.conftest import Site
from tests.pages import PageLine
from tests.scene import Scene

Show = Callable[[Scene], Site]
by_path = pytest.mark.parametrize("line", pages.served(), ids=lambda line: line.path)
AXE = Axe()
# Not those that arrow keys reach from their neighbours: a grid is one stop.
REACHED = "a[href]:not([tabindex='-1']), button:not([tabindex='-1']), summary"
# As on a slow laptop, where what a fast one paints at once comes bit by bit; not on all pages: it takes its time.
SLOWLY = ("/pods", "/doctor", "/ns/ml/pods/train/nodes")
SHIFTS = """() => {
  window.shifted = 0
  new PerformanceObserver(list => list.getEntries().forEach(e => { if (!e.hadRecentInput) shifted += e.value }))
    .observe({type: 'layout-shift', buffered: true})
}"""


# What a theme can change: elements, names and order are the same in both, and most of axe-core's time is theirs.
OF_COLOURS: Final = ["color-contrast", "link-in-text-block"]


def violations(page: Page, rules: list[str] | None = None) -> list[str]:
    """rules: None for all of axe-core's."""
    options = {"resultTypes": ["violations"]} | ({"runOnly": rules} if rules else {})
    found = AXE.run(page, options=options).response["violations"]
    return [f"{v['id']}: {n['html'][:150]} {n.get('failureSummary', '')[:300]}" for v in found for n in v["nodes"][:3]]


def in_each_look(page: Page) -> dict[str, list[str]]:
    """What axe-core finds, by theme and width; looks without a fault are left out."""
    found = {}
    for width in (1366, 390):
        page.set_viewport_size({"width": width, "height": 900})
        for theme in ("light", "dark"):
            page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
            if faults := violations(page, OF_COLOURS if theme == "dark" else None):
                found[f"{theme} {width}"] = faults
    return found


@by_path
def test_axe_finds_nothing_and_nothing_is_wider_than_the_window(browser: Browser, show: Show, line: PageLine) -> None:
    site = show(pages.scene())
    page = site.open(browser, line.path)
    assert in_each_look(page) == {}
    for width in (390, 1366):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert site.complaints == []
    page.close()


def test_axe_finds_nothing_where_there_is_nothing(browser: Browser, show: Show) -> None:
    scene = Scene()
    for kind in build.PLURALS.values():
        scene.sync(kind, "forbidden", error=f"{kind} is forbidden")
    site = show(scene)
    page = browser.new_page()
    for line in pages.served():
        page.goto(site.url + line.path)
        assert violations(page) == []
    page.goto(site.url + "/nowhere")
    assert violations(page) == []
    page.close()


def test_axe_finds_nothing_on_pages_of_the_generation_that_is_not_served(browser: Browser, show: Show) -> None:
    scene = Scene(build.pod("train", "ml", claims={"gpu": "gpu"}), builddevices.device_class("broken") | {"spec": 1})
    for kind in ("resourceclasses", "podschedulingcontexts"):
        scene.sync(kind, "notServed", error="the API server does not serve it")
    site = show(scene)
    page = site.open(browser, "/deviceclasses")
    expect(page.locator(".malformed")).to_contain_text("broken")
    for path in ("/deviceclasses", "/classes", "/negotiations", "/classes/gpu"):
        page.goto(site.url + path)
        assert in_each_look(page) == {}
    page.close()


def test_axe_finds_nothing_on_a_list_that_is_held(browser: Browser, show: Show) -> None:
    site = show(pages.scene())
    page = site.open(browser, "/changes")
    page.locator("main .stream tbody tr").last.locator("th a").focus()
    site.scene.put(*(build.node(f"more-{i}") for i in range(60)))
    expect(page.locator(".held")).to_be_visible()
    assert in_each_look(page) == {}
    page.close()


def test_axe_finds_nothing_in_the_dialogs(browser: Browser, show: Show) -> None:
    site = show(pages.scene())
    page = site.open(browser, "/pods")
    page.keyboard.press("?")
    assert in_each_look(page) == {}
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("train")
    expect(page.locator("#search-results a.hit").first).to_be_visible()
    assert in_each_look(page) == {}
    page.close()


@by_path
def test_nothing_moves_when_a_page_has_been_painted_and_goes_live(browser: Browser, show: Show, line: PageLine) -> None:
    site = show(pages.scene())
    page = browser.new_page(viewport={"width": 1366, "height": 900})
    if line.path in SLOWLY:
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 5})
    page.add_init_script(f"({SHIFTS})()")
    page.goto(site.url + line.path)
    page.wait_for_selector('#live-state[data-state="live"]')
    page.wait_for_timeout(300)  # layout shifts are reported after the frame
    assert page.evaluate("shifted") < 0.01
    page.close()


def test_everything_can_be_reached_by_tab_and_shows_its_focus(browser: Browser, show: Show) -> None:
    site = show(pages.scene())
    page = site.open(browser, "/ns/ml/pods/train")
    count = page.evaluate(
        "reached => [...document.querySelectorAll(`main :is(${reached})`)].filter(e => e.checkVisibility()).length",
        REACHED,
    )
    seen: set[int] = set()
    for _ in range(count + 60):
        page.keyboard.press("Tab")
        focused = page.evaluate(
            """reached => { const e = document.activeElement; if (!e.closest('main')) return null
                 if (!window.marks) window.marks = new Map(); if (!marks.has(e)) marks.set(e, marks.size)
                 const s = getComputedStyle(e)
                 return [marks.get(e), e.matches(reached), s.outlineStyle !== 'none'] }""",
            REACHED,
        )
        if focused is None:
            if seen:
                break
            continue
        assert focused[2], "the focus cannot be seen"
        if focused[1]:
            seen.add(focused[0])
    assert len(seen) >= count
    page.close()
