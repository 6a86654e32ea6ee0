"""A list that shows only so many rows does not push off the one that is read: it stands still, says so, and goes on."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from tests import build, pages
from tests.browser.conftest import Site
from tests.scene import Scene

Show = Callable[[Scene], Site]
BURST = 60  # more than the rows of /changes
FOCUS = "document.activeElement.textContent"
SELECTED = "getSelection().toString()"
TAKEN = """how => {
  const links = [...document.querySelectorAll('main :is(.stream th, .changes li) a')]
  const link = links.find(a => a.textContent.includes('ml/read'))
  if (!link) return false
  if (how === 'focus') link.focus()
  else getSelection().selectAllChildren(link)
  return true
}"""


def begin(show: Show) -> Site:
    scene = pages.scene()
    for i in range(BURST):
        scene.put(build.pod(f"old-{i:02}", "ml", claims={"gpu": "absent"}))
    return show(scene)


def burst(site: Site, name: str = "new") -> None:
    site.scene.put(*(build.pod(f"{name}-{i:02}", "ml", claims={"gpu": "absent"}) for i in range(BURST)))


def read(site: Site, page: Page, how: str) -> str:
    """A change of ml/read comes, and its link has the focus or is selected. What tells that it is read still."""
    site.scene.put(build.pod("read", "ml", claims={"gpu": "absent"}))
    # Found and taken in one go: between two calls a newer list may have replaced the link.
    page.wait_for_function(TAKEN, arg=how)
    return FOCUS if how == "focus" else SELECTED


@pytest.mark.parametrize("path", ["/changes", "/"])
@pytest.mark.parametrize("how", ["focus", "selected"])
def test_a_burst_does_not_push_off_the_row_that_is_read(browser: Browser, show: Show, path: str, how: str) -> None:
    site = begin(show)
    page = site.open(browser, path)
    what = read(site, page, how)
    burst(site)
    note = page.locator(".held")
    expect(note).to_contain_text("held while you read")
    assert page.evaluate(what) == "ml/read"
    expect(page.locator("#announce")).to_contain_text("held while you read")
    burst(site, "newest")
    site.scene.put(build.pod("last", "ml", claims={"gpu": "absent"}))
    page.wait_for_function("revision => document.body.textContent.includes(`revision ${revision}`)", arg=revision(site))
    assert page.evaluate(what) == "ml/read"
    note.get_by_role("button", name="Show").click()
    expect(note).to_have_count(0)
    expect(page.locator("main :is(.stream th, .changes li) a").first).to_have_text("ml/last")
    assert site.complaints == []
    page.close()


def revision(site: Site) -> int:
    with site.scene.web.follower.world() as world:
        return world.revision


def test_what_is_held_back_is_counted(browser: Browser, show: Show) -> None:
    site = begin(show)
    page = site.open(browser, "/changes")
    rows = page.locator("main .stream tbody tr")
    rows.last.locator("th a").focus()
    site.scene.put(build.namespace("come"))  # which changes no verdict
    expect(page.locator(".held")).to_contain_text(re.compile(r"^1 new row, held"))
    site.scene.put(build.namespace("come-too"))
    expect(page.locator(".held")).to_contain_text(re.compile(r"^2 new rows, held"))
    page.close()


@pytest.mark.parametrize("how", ["focus", "selected"])
def test_the_list_goes_on_when_its_reader_leaves_the_row(browser: Browser, show: Show, how: str) -> None:
    site = begin(show)
    page = site.open(browser, "/changes")
    read(site, page, how)
    burst(site)
    expect(page.locator(".held")).to_be_visible()
    page.evaluate("() => { getSelection().removeAllRanges(); document.querySelector('.brand').focus() }")
    expect(page.locator(".held")).to_have_count(0)
    expect(page.locator("main .stream th a").first).to_contain_text("ml/new-")
    expect(page.locator(".brand")).to_be_focused()
    page.close()


def test_the_keyboard_goes_from_row_to_row_in_a_held_list_and_on_by_escape(browser: Browser, show: Show) -> None:
    site = begin(show)
    page = site.open(browser, "/changes")
    read(site, page, "focus")
    burst(site)
    expect(page.locator(".held")).to_be_visible()
    row = "document.activeElement.closest('tr')?.id"
    before = page.evaluate(row)
    page.keyboard.press("j")
    below = page.evaluate(row)
    assert below
    assert below != before
    page.keyboard.press("?")
    page.keyboard.press("Escape")
    assert page.evaluate(row) == below
    expect(page.locator(".held")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".held")).to_have_count(0)
    page.keyboard.press("j")
    assert "ml/new-" in page.evaluate(FOCUS)
    page.close()


def test_a_row_that_goes_to_the_next_page_stays_while_it_is_read(browser: Browser, show: Show) -> None:
    """Any list, and the rows that are sent alone meanwhile: they are of the list that is held back."""
    scene = pages.scene()
    for i in range(110):
        scene.put(build.pod(f"pod-{i:03}", "ml", claims={"gpu": "absent"}))
    site = show(scene)
    page = site.open(browser, "/pods?sort=pod")
    last = page.locator("main .pods tbody tr").last.locator("th a")
    name = last.text_content()
    last.focus()
    site.scene.put(build.pod("a-first", "ml", claims={"gpu": "late"}))
    expect(page.locator(".held")).to_contain_text("1 new row")
    assert page.evaluate(FOCUS) == name
    expect(page.locator("main .pods tbody")).not_to_contain_text("a-first")
    site.scene.put(build.claim("late", "ml", mode="Immediate"))
    page.wait_for_function("revision => document.body.textContent.includes(`revision ${revision}`)", arg=revision(site))
    page.keyboard.press("Escape")
    first = page.locator("main .pods tbody tr").first
    expect(first).to_contain_text("a-first")
    expect(first).not_to_contain_text("late")
    assert site.complaints == []
    page.close()


def test_the_note_of_a_held_list_fits_a_phone(browser: Browser, show: Show) -> None:
    site = begin(show)
    page = site.open(browser, "/changes", viewport={"width": 390, "height": 800})
    read(site, page, "focus")
    burst(site)
    expect(page.locator(".held")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()


@pytest.mark.parametrize("width", [1366, 390])
@pytest.mark.parametrize("how", ["Escape", "Show"])
def test_whoever_asks_for_what_is_new_stays_at_the_head_of_the_list(
    browser: Browser, show: Show, how: str, width: int
) -> None:
    site = begin(show)
    page = site.open(browser, "/changes", viewport={"width": width, "height": 800})
    rows = page.locator("main .stream tbody tr")
    rows.last.locator("th a").focus()
    burst(site)
    expect(page.locator(".held")).to_be_visible()
    if how == "Escape":
        page.keyboard.press("Escape")
    else:
        page.locator(".held").get_by_role("button", name="Show").click()
    expect(page.locator(".held")).to_have_count(0)
    expect(rows.first).to_be_in_viewport()
    place = page.evaluate("scrollY")
    assert place > 0
    for name in ("one", "two", "three"):
        site.scene.put(build.pod(name, "ml", claims={"gpu": "absent"}))
        expect(rows.first).to_contain_text(f"ml/{name}")
        expect(rows.first).to_be_in_viewport()
        assert abs(page.evaluate("scrollY") - place) < 2
    page.keyboard.press("j")
    expect(rows.first.locator("th a")).to_be_focused()
    assert site.complaints == []
    page.close()


@pytest.mark.parametrize("how", ["Escape", "Show", "leave"])
def test_it_is_not_said_any_more_that_the_list_is_held_once_it_goes_on(browser: Browser, show: Show, how: str) -> None:
    site = begin(show)
    page = site.open(browser, "/changes")
    region = page.locator("#announce")
    for again in ("first", "second"):
        page.locator("main .stream tbody tr").last.locator("th a").focus()
        burst(site, again)
        expect(region).to_contain_text("is held while you read")
        if how == "Escape":
            page.keyboard.press("Escape")
        elif how == "Show":
            page.locator(".held").get_by_role("button", name="Show").click()
        else:
            page.locator(".brand").focus()
        expect(region).to_have_text("The list goes on.")
    page.close()
