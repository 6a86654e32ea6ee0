"""Printed, every page fits on its sheet: nothing is wider than A4, with margins or without."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, expect

from tests import build, pages
from tests.browser.conftest import Site
from tests.browser.test_layout import COVERED
from tests.scene import Scene

Show = Callable[[Scene], Site]
LONG = "a-very-long-name-of-a-training-job-that-somebody-has-generated-7f9c6b5d4-x2x4z"

# What ends right of the sheet, or is cut by the box that it scrolls in on a screen. Narrow, a table's heads are hidden.
WIDE = """() => [...document.querySelectorAll('body *')].filter(e => e.checkVisibility() && !e.closest('.sr, svg'))
  .filter(e => !e.closest('thead') || getComputedStyle(e.closest('thead')).position !== 'absolute')
  .filter(e => e.getBoundingClientRect().right > innerWidth + 1 ||
    (e.matches('.scroll, pre, .pipeline, .card') && e.scrollWidth > e.clientWidth + 1))
  .map(e => e.outerHTML.slice(0, 90))"""


@pytest.mark.parametrize("width", [794, 718], ids=["whole sheet", "with margins"])
def test_nothing_is_wider_than_the_sheet(browser: Browser, show: Show, width: int) -> None:
    scene = pages.scene()
    scene.put(build.pod(LONG, "ml", claims={"gpu": "missing"}))
    site = show(scene)
    site.scene.web.doctor.look()
    page = site.open(browser, "/", viewport={"width": width, "height": 1123})
    page.emulate_media(media="print")
    found = {}
    for path in [line.path for line in pages.served()] + [f"/ns/ml/pods/{LONG}", "/ns/ml/negotiations/train"]:
        page.goto(site.url + path)
        assert page.locator("h1, .totals").count(), path
        if wide := page.evaluate(WIDE) + page.evaluate(COVERED):
            found[path] = wide[:3]
    assert found == {}
    page.close()


# Pairs of cards, one above the other, with less than 8 px between.
TOUCHING = """() => { const cards = [...document.querySelectorAll('main .card')].filter(c => c.checkVisibility() &&
    c.getBoundingClientRect().height && !c.parentElement.closest('.card')).map(c => [c, c.getBoundingClientRect()])
  return cards.flatMap(([a, upper]) => cards.filter(([b, lower]) => b !== a && lower.top >= upper.bottom - 1 &&
    lower.top - upper.bottom < 8 && lower.left < upper.right && lower.right > upper.left).map(([b]) =>
    `${a.getAttribute('aria-labelledby')} ${b.getAttribute('aria-labelledby')}`)) }"""


@pytest.mark.parametrize("width", [1366, 718])
def test_no_two_cards_touch(browser: Browser, show: Show, width: int) -> None:
    site = show(pages.scene())
    site.scene.web.doctor.look()
    page = site.open(browser, "/", viewport={"width": width, "height": 1123})
    page.emulate_media(media="print")
    found = {}
    for path in [line.path for line in pages.served()] + ["/ns/ml/pods/train", "/ns/ml/negotiations/train"]:
        page.goto(site.url + path)
        if touching := page.evaluate(TOUCHING):
            found[path] = touching
    assert found == {}
    page.close()


def test_an_object_on_paper_has_its_kind_its_namespace_and_the_time_of_what_is_told(
    browser: Browser, show: Show
) -> None:
    site = show(pages.scene())
    page = site.open(browser, "/ns/ml/pods/train")
    expect(page.locator(".on-paper")).to_be_hidden()
    page.emulate_media(media="print")
    expect(page.locator(".crumbs")).to_be_visible()
    expect(page.locator(".crumbs")).to_have_text("Pods / ml")
    expect(page.locator(".on-paper")).to_be_visible()
    expect(page.locator(".on-paper time")).to_contain_text("UTC")
    page.close()
