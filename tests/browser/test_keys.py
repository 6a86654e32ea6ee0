"""The keyboard alone: search from everywhere, rows, pages, help; and never while somebody types."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests import build, pages
from tests.browser.conftest import Site
from tests.pages import TRAIN
from tests.scene import Scene

Show = Callable[[Scene], Site]


@pytest.fixture
def site(show: Show) -> Site:
    return show(pages.scene())


@pytest.mark.parametrize("keys", ["/", "Control+k"])
def test_search_opens_finds_and_goes_by_key(browser: Browser, site: Site, keys: str) -> None:
    page = site.open(browser, "/claims")
    page.keyboard.press(keys)
    expect(page.locator("#search-text")).to_be_focused()
    page.keyboard.type("pod/train -n ml")
    expect(page.locator("#search-results")).to_have_attribute("data-of", "pod/train -n ml")
    expect(page.locator("#search-results")).to_contain_text("1 result")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#search-results a.hit").first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator("#search-text")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/ns/ml/pods/train")
    assert site.complaints == []
    page.close()


def test_newer_results_leave_the_focus_on_the_hit_that_has_it(browser: Browser, site: Site) -> None:
    page = site.open(browser, "/claims")
    page.keyboard.press("/")
    page.keyboard.type("pod/train -n ml")
    expect(page.locator("#search-results")).to_have_attribute("data-of", "pod/train -n ml")
    page.keyboard.press("ArrowDown")
    page.locator("#search-results").evaluate("results => { results.querySelector('a.hit').dataset.old = '1' }")
    page.evaluate("htmx.trigger(document.getElementById('search-text'), 'opened')")
    expect(page.locator("#search-results a.hit[data-old]")).to_have_count(0)
    expect(page.locator("#search-results a.hit").first).to_be_focused()
    page.close()


def test_a_device_is_found_and_opened_by_key(browser: Browser, site: Site) -> None:
    page = site.open(browser, "/pods")
    page.keyboard.press("/")
    page.keyboard.type("rack/one/gpu-1")
    expect(page.locator("#search-results")).to_contain_text("Devices")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#search-results a.hit").first).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/devices/gpu.example.com/rack/one/gpu-1")
    expect(page.locator("h1")).to_contain_text("gpu-1")
    page.close()


def test_escape_closes_the_search_and_gives_the_focus_back(browser: Browser, site: Site) -> None:
    page = site.open(browser, "/pods")
    page.locator("main table a").first.focus()
    page.keyboard.press("/")
    page.keyboard.type("tr")
    expect(page.locator("#search-results a.hit").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    expect(page.locator("#search-dialog")).to_be_hidden()
    expect(page.locator("main table a").first).to_be_focused()
    page.close()


# What stands in the field when Escape is pressed, and whether its results have come.
@pytest.mark.parametrize(("typed", "answered"), [("", True), ("tr", True), ("tr", False), ("no such thing", True)])
def test_escape_in_the_field_closes_the_search_at_once(
    browser: Browser, site: Site, typed: str, *, answered: bool
) -> None:
    page = site.open(browser, "/pods")
    if not answered:
        page.route("**/search?*", lambda _: None)
    page.locator("main table a").first.focus()
    page.keyboard.press("/")
    page.keyboard.type(typed)
    if answered:
        expect(page.locator(f'#search-results[data-of="{typed}"]')).to_be_attached()
    expect(page.locator("#search-text")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#search-dialog")).to_be_hidden()
    expect(page.locator("main table a").first).to_be_focused()
    page.close()


def _held(page: Page) -> Callable[[], None]:
    """Answers of the search are held back; the function lets them and all later ones through."""
    held: list[Route] = []
    released: list[bool] = []
    page.route("**/search?*", lambda route: route.continue_() if released else held.append(route))

    def release() -> None:
        released.append(True)
        for route in held:
            route.continue_()

    return release


@pytest.mark.parametrize("path", ["/pods", "/nowhere"])
@pytest.mark.parametrize(
    ("typed", "opened"),
    [("pod/train -n ml", "**/ns/ml/pods/train"), ("no such thing", "**/search?q=no+such+thing")],
)
def test_enter_before_the_answer_opens_what_it_brings(
    browser: Browser, site: Site, path: str, typed: str, opened: str
) -> None:
    page = browser.new_page()
    page.goto(site.url + path)
    page.keyboard.press("/")
    expect(page.locator("#search-results[data-of='']")).to_be_attached()
    release = _held(page)
    page.keyboard.type(typed)
    with page.expect_request("**/search?*"):
        page.keyboard.press("Enter")
    assert page.url == site.url + path
    release()
    page.wait_for_url(opened)
    page.close()


def test_enter_goes_to_the_search_page_where_the_answer_fails(browser: Browser, site: Site) -> None:
    page = browser.new_page()
    page.goto(site.url + "/pods")
    page.keyboard.press("/")
    expect(page.locator("#search-results[data-of='']")).to_be_attached()
    page.route(
        "**/search?*", lambda route: route.continue_() if route.request.is_navigation_request() else route.abort()
    )
    page.keyboard.type("train")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=train")
    page.close()


@pytest.mark.parametrize("then", ["x", "Escape"])
def test_who_types_on_or_closes_after_enter_is_taken_nowhere(browser: Browser, site: Site, then: str) -> None:
    page = site.open(browser, "/pods")
    page.keyboard.press("/")
    expect(page.locator("#search-results[data-of='']")).to_be_attached()
    release = _held(page)
    page.keyboard.type("train")
    page.keyboard.press("Enter")
    page.keyboard.press(then)
    with page.expect_response("**/search?*"):
        release()
    expect(page.locator(f"#search-results[data-of={'trainx' if then == 'x' else 'train'}]")).to_be_attached()
    assert page.url == site.url + "/pods"
    page.close()


def test_what_is_typed_in_the_search_survives_updates(browser: Browser, site: Site) -> None:
    page = site.open(browser, "/search")
    page.locator("#search-q").press_sequentially("tra")
    page.wait_for_url("**/search?q=tra")
    expect(page.locator("#found")).to_contain_text("train-gpu")
    site.scene.put(build.pod("trainer", "ml", claims={"gpu": "train-gpu"}))
    expect(page.locator("#found")).to_contain_text("trainer")
    expect(page.locator("#search-q")).to_have_value("tra")
    expect(page.locator("#search-q")).to_be_focused()
    page.close()


def test_an_open_search_survives_updates_of_the_page(browser: Browser, site: Site) -> None:
    page = site.open(browser, "/pods")
    page.keyboard.press("/")
    page.keyboard.type("train")
    expect(page.locator("#search-results a.hit").first).to_be_visible()
    site.scene.delete(TRAIN)
    expect(page.locator("table.pods tbody tr")).to_have_count(1)
    expect(page.locator("#search-text")).to_have_value("train")
    expect(page.locator("#search-text")).to_be_focused()
    page.close()


def test_without_script_search_is_a_link_and_a_form(browser: Browser, site: Site) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(site.url + "/pods")
    page.locator("#search-open").click()
    page.locator("#search-q").fill("zone=a")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#found")).to_contain_text("node-0")
    page.close()


def test_j_and_k_go_through_rows_and_enter_opens(browser: Browser, site: Site) -> None:
    page = site.open(browser, "/claims")
    links = page.locator("table.rows tbody th a")
    page.keyboard.press("j")
    expect(links.nth(0)).to_be_focused()
    page.keyboard.press("j")
    expect(links.nth(1)).to_be_focused()
    page.keyboard.press("k")
    expect(links.nth(0)).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/ns/ml/claims/*")
    page.close()


def test_g_and_a_letter_go_to_each_section(browser: Browser, site: Site) -> None:
    page = site.open(browser, "/")
    for key, path in page.eval_on_selector_all("a[data-go]", "all => all.map(a => [a.dataset.go, a.pathname])"):
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(site.url + path)
        page.wait_for_selector('#live-state[data-state="live"]')
    page.close()


def test_the_keys_are_listed(browser: Browser, site: Site) -> None:
    page = site.open(browser, "/pods")
    page.keyboard.press("?")
    expect(page.locator("#keys-dialog")).to_be_visible()
    expect(page.locator("#keys-dialog")).to_contain_text("next row")
    page.keyboard.press("Escape")
    expect(page.locator("#keys-dialog")).to_be_hidden()
    page.close()


@pytest.mark.parametrize("path", ["/nowhere", "/go?pod=lost&namespace=ml"])
def test_the_keys_that_a_page_that_does_not_exist_shows_work_there(browser: Browser, site: Site, path: str) -> None:
    page = browser.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda e: complaints.append(str(e)))
    page.goto(site.url + path)
    expect(page.locator("#search-open kbd")).to_be_visible()
    page.keyboard.press("?")
    expect(page.locator("#keys-dialog")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("pod/train -n ml")
    expect(page.locator("#search-results")).to_contain_text("1 result")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ns/ml/pods/train")
    assert complaints == []
    page.close()


@pytest.mark.parametrize("path", ["/pods", "/nowhere"])
def test_no_key_is_named_where_there_is_no_script(browser: Browser, site: Site, path: str) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(site.url + path)
    expect(page.locator("#search-open")).to_be_visible()
    expect(page.locator("kbd:visible")).to_have_count(0)
    page.close()


def test_no_key_is_taken_while_somebody_types(browser: Browser, site: Site) -> None:
    page = site.open(browser, "/pods")
    page.keyboard.press("f")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type("jk/?gpx")
    expect(page.locator("#q")).to_have_value("jk/?gpx")
    expect(page.locator("dialog[open]")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.locator("#q")).not_to_be_focused()
    page.close()
