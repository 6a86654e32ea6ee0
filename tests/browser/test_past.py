"""The past in Chromium: the slider by pointer and key, and without a script."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from dradash.reader.moment import show as rfc3339
from tests import build
from tests.browser.conftest import Site
from tests.browser.test_accessibility import in_each_look
from tests.scene import Scene

Show = Callable[[Scene], Site]
TRAIN = build.pod("train", "ml", claims={"gpu": "gpu"})


@pytest.fixture
def site(show: Show) -> Site:
    """TRAIN is blocked, ten minutes later it waits, then it fits, then it is bound."""
    scene = Scene(*build.nodes(4), build.resource_class(), TRAIN)
    for change in (
        build.claim("gpu", "ml"),
        build.claim("gpu", "ml", allocation=build.allocation("node-3")),
        build.pod("train", "ml", claims={"gpu": "gpu"}, node="node-3"),
    ):
        scene.now += 600.0
        scene.put(change)
    return show(scene)


def past(site: Site, browser: Browser, path: str, **options: object) -> Page:
    """A page that has no socket to wait for."""
    page = browser.new_page(**options)  # type: ignore[arg-type]  # Playwright's own many keywords
    page.on("console", lambda m: site.complaints.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: site.complaints.append(str(e)))
    page.goto(site.url + path)
    return page


def test_arrow_keys_on_the_slider_go_back_from_change_to_change_and_end_is_now(browser: Browser, site: Site) -> None:
    page = site.open(browser, "/ns/ml/pods/train")
    slider = page.locator("#time-slider")
    expect(slider).to_have_attribute("aria-valuetext", "now")
    for outcome in ("Bound", "Schedulable", "Waiting", "Blocked"):
        page.locator("#time-slider").press("ArrowLeft")
        page.locator("#time-slider").press("Enter")
        expect(page.locator(".past-bar")).to_be_visible()
        expect(page.locator("#headline")).to_contain_text(outcome)
        expect(page.locator("#time-slider")).to_be_focused()
    page.locator("#time-slider").press("End")
    expect(page.locator("#live-state")).to_have_attribute("data-state", "live")  # after a rest, without Enter
    expect(page).to_have_url(site.url + "/ns/ml/pods/train")
    assert site.complaints == []
    page.close()


def test_brackets_go_from_change_to_change_but_not_while_somebody_types(browser: Browser, site: Site) -> None:
    page = site.open(browser, "/ns/ml/pods/train")
    page.keyboard.press("[")
    expect(page.locator("#headline")).to_contain_text("Bound")
    expect(page.locator(".past-bar")).to_be_visible()
    page.keyboard.press("[")
    expect(page.locator("#headline")).to_contain_text("Schedulable")
    page.keyboard.press("]")
    expect(page.locator("#headline")).to_contain_text("Bound")
    page.locator("#go-to summary").click()
    page.get_by_label("Go to a time").press_sequentially("[")
    expect(page.get_by_label("Go to a time")).to_have_value("[")
    page.close()


def test_a_drag_to_the_beginning_shows_the_beginning(browser: Browser, site: Site) -> None:
    page = site.open(browser, "/ns/ml/pods/train")
    box = page.locator("#time-slider").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 9, box["y"] + box["height"] / 2)
    expect(page.locator(".past-bar")).to_be_visible()
    expect(page.locator("#headline")).to_contain_text("Blocked")
    page.close()


def test_the_past_does_not_follow_the_present_and_live_does(browser: Browser, site: Site) -> None:
    page = past(site, browser, f"/ns/ml/pods/train?at={rfc3339(build.NOW + 700)}")
    sockets: list[str] = []
    page.on("websocket", lambda s: sockets.append(s.url))
    page.reload()
    expect(page.locator("#headline")).to_contain_text("Waiting")
    expect(page.locator(".as-of")).to_contain_text("as of")
    age = page.locator("#headline time").first.text_content()
    site.scene.delete(TRAIN)
    page.wait_for_timeout(1200)  # nothing is to happen, so there is no event to wait for
    expect(page.locator("#headline")).not_to_contain_text("gone")
    assert page.locator("#headline time").first.text_content() == age
    assert sockets == []
    page.get_by_role("link", name="Back to live").click()
    expect(page.locator("#headline")).to_contain_text("This pod is gone")
    expect(page.locator("#live-state")).to_have_attribute("data-state", "live")
    page.close()


def test_links_stay_in_the_past(browser: Browser, site: Site) -> None:
    at = rfc3339(build.NOW + 700)
    page = past(site, browser, f"/pods?at={at}")
    page.get_by_role("link", name="train", exact=True).click()
    expect(page.locator("#headline")).to_contain_text("Waiting")
    page.get_by_role("link", name="Claims", exact=True).click()
    expect(page.locator("table.claims")).to_contain_text("Pending")
    assert "at=" in page.url
    page.close()


def test_the_past_works_without_a_script(browser: Browser, site: Site) -> None:
    page = past(site, browser, "/ns/ml/pods/train", java_script_enabled=False)
    expect(page.locator("#time-slider")).to_be_hidden()
    for outcome in ("Bound", "Schedulable", "Waiting", "Blocked"):
        page.get_by_role("link", name="← Previous change").click()
        expect(page.locator("#headline")).to_contain_text(outcome)
    page.get_by_role("link", name="Next change →").click()
    expect(page.locator("#headline")).to_contain_text("Waiting")
    page.locator("#timeline-list summary").click()
    page.locator("#timeline-list").get_by_role("link", name="what changed").last.click()
    expect(page.locator("#comparison")).to_contain_text("Blocked")
    expect(page.locator("#comparison")).to_contain_text("ResourceClaim")
    page.locator("#go-to summary").click()
    page.get_by_label("Go to a time").fill(rfc3339(build.NOW + 60))
    page.get_by_role("button", name="Go", exact=True).click()
    expect(page.locator("#headline")).to_contain_text("Blocked")
    expect(page.locator("#comparison")).to_have_count(0)
    page.close()


def test_after_the_newest_change_comes_the_live_page(browser: Browser, site: Site) -> None:
    page = site.open(browser, "/ns/ml/pods/train")
    page.keyboard.press("[")
    expect(page).to_have_url(re.compile(r"\?at="))
    page.keyboard.press("]")
    expect(page).to_have_url(re.compile(r"/ns/ml/pods/train\??$"))
    page.close()


def test_a_time_that_is_typed_is_kept_in_the_address(browser: Browser, site: Site) -> None:
    page = site.open(browser, "/pods?q=train")
    page.locator("#go-to summary").click()
    page.get_by_label("Go to a time").fill("5m")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/pods\?q=train&at=2\d{3}-\d\d-\d\dT\d\d%3A\d\d%3A\d\dZ"))
    page.close()


def test_the_keyboard_goes_through_what_differs(browser: Browser, site: Site) -> None:
    at, then = rfc3339(build.NOW + 1300), rfc3339(build.NOW + 60)
    page = past(site, browser, f"/compare?at={at}&with={then}")
    page.keyboard.press("j")
    first = page.locator(".compared h2 a").first
    expect(first).to_be_focused()
    page.keyboard.press("j")
    expect(first).not_to_be_focused()
    expect(page.locator(".compared h2 a:focus")).to_have_count(1)
    page.close()


def test_pages_of_the_past_do_not_scroll_sideways(browser: Browser, site: Site) -> None:
    at, then = rfc3339(build.NOW + 1300), rfc3339(build.NOW + 60)
    for path in (f"/ns/ml/pods/train?at={at}&with={then}", f"/compare?at={at}&with={then}", f"/pods?at={at}"):
        page = past(site, browser, path)
        for width in (390, 1366):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.close()
    assert site.complaints == []


@pytest.mark.parametrize("path", ["/ns/ml/pods/train?at={at}&with={then}", "/compare?at={at}&with={then}", "/compare"])
def test_axe_finds_nothing_in_the_past(browser: Browser, site: Site, path: str) -> None:
    address = path.format(at=rfc3339(build.NOW + 1300), then=rfc3339(build.NOW + 60))
    page = past(site, browser, address)
    page.evaluate("document.querySelectorAll('main details').forEach(d => { d.open = true })")
    assert in_each_look(page) == {}
    page.close()
