"""The page about the API: it tries resources out without leaving, under the Content-Security-Policy."""

from __future__ import annotations

from collections.abc import Callable

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from tests import pages
from tests.browser.conftest import Site
from tests.scene import Scene


def test_a_resource_is_tried_out_on_the_page(show: Callable[[Scene], Site], browser: Browser) -> None:
    site = show(pages.scene())
    complaints: list[str] = []
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
    asked: list[str] = []
    page.on("request", lambda r: asked.append(r.url))
    page.goto(f"{site.url}/api/v1/")
    page.click("#verdict summary")
    page.fill("#verdict-namespace", "ml")
    page.fill("#verdict-name", "train")
    page.fill("#verdict-fields", "outcome,pod")
    assert page.locator("#verdict button[type=submit]").evaluate("b => getComputedStyle(b).borderRadius") == "7px"
    page.press("#verdict-fields", "Enter")
    answer = page.locator("#verdict .api-answer")
    answer.get_by_text('"outcome": "Waiting"').wait_for()
    assert page.locator("#verdict .api-address").inner_text() == ("/api/v1/pods/ml/train/verdict?fields=outcome%2Cpod")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert Axe().run(page).response["violations"] == []
    assert complaints == []
    assert all(url.startswith(site.url) for url in asked)
    page.close()


def test_the_link_at_the_foot_of_a_page_opens_its_json(show: Callable[[Scene], Site], browser: Browser) -> None:
    site = show(pages.scene())
    page = site.open(browser, "/pods?ns=ml")
    page.click("text=This page as JSON")
    page.wait_for_url("**/api/v1/pods?namespace=ml")
    assert '"reasonCodes"' in page.content()
    page.close()
