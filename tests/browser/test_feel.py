"""While a page is read, updates leave the reader alone: place, focus, open parts, selected text; changes are quiet."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from tests import build, pages
from tests.browser.conftest import Site
from tests.pages import NODES, TRAIN
from tests.scene import Scene

Show = Callable[[Scene], Site]
POD = "/ns/ml/pods/train"


def change(site: Site, page: Page) -> None:
    """A change that replaces whole blocks of the pod's page, seen when it has come."""
    site.scene.put(build.context(TRAIN, potential=NODES, selected="node-2", unsuitable={"gpu": ["node-1"]}))
    expect(page.locator("#negotiation")).to_contain_text("node-2")


@pytest.fixture
def site(show: Show) -> Site:
    return show(pages.scene())


def test_the_scroll_position_is_kept(browser: Browser, site: Site) -> None:
    page = site.open(browser, POD, viewport={"width": 390, "height": 500})
    page.evaluate("document.querySelector('#negotiation').scrollIntoView({block: 'center'})")
    before = page.evaluate("scrollY")
    assert before > 0
    change(site, page)
    assert abs(page.evaluate("scrollY") - before) < 60
    page.close()


def test_the_focus_is_kept(browser: Browser, site: Site) -> None:
    page = site.open(browser, POD)
    summary = page.locator("#negotiation summary").first
    summary.focus()
    change(site, page)
    expect(page.locator("#negotiation summary").first).to_be_focused()
    page.close()


def test_open_details_stay_open(browser: Browser, site: Site) -> None:
    page = site.open(browser, POD)
    page.locator("#negotiation details summary").first.click()
    change(site, page)
    expect(page.locator("#negotiation details").first).to_have_attribute("open", "")
    page.close()


def test_selected_text_stays_selected(browser: Browser, site: Site) -> None:
    page = site.open(browser, POD)
    page.evaluate(
        """() => { const h = document.querySelector('#negotiation h2').firstChild
             getSelection().setBaseAndExtent(document.querySelector('h1').firstChild, 1, h, 5) }"""
    )
    before = page.evaluate("getSelection().toString()")
    assert len(before) > 5
    change(site, page)
    after = page.evaluate("getSelection().toString()")
    assert after.startswith(before[:3])
    assert after.endswith(before[-5:])
    page.close()


def test_a_changed_value_is_marked_for_a_moment(browser: Browser, site: Site) -> None:
    page = site.open(browser, "/pods")
    page.evaluate(
        """() => { window.marked = []
             const look = m => { if (m.target.classList.contains('changed')) marked.push(m.target.textContent) }
             new MutationObserver(all => all.forEach(look))
               .observe(document.body, {attributeFilter: ['class'], subtree: true}) }"""
    )
    site.scene.put(build.claim("train-gpu", "ml", mode="Immediate"))
    expect(page.locator("table.pods")).to_contain_text("Unschedulable")
    page.wait_for_function("marked.some(t => t.includes('Unschedulable'))")
    expect(page.locator(".changed")).to_have_count(0)
    page.close()


def test_the_mark_does_not_move_for_those_who_want_no_motion(browser: Browser, site: Site) -> None:
    page = site.open(browser, "/pods", reduced_motion="reduce")
    page.evaluate("document.querySelector('td').classList.add('changed')")
    assert page.evaluate("getComputedStyle(document.querySelector('.changed')).animationName") == "none"
    page.close()


def test_a_new_verdict_of_the_open_pod_is_announced_once(browser: Browser, site: Site) -> None:
    page = site.open(browser, POD)
    region = page.locator("#announce")
    expect(region).to_have_attribute("role", "status")
    expect(region).to_have_text("")
    site.scene.put(build.claim("train-gpu", "ml", mode="Immediate"))
    expect(region).to_contain_text("train: Unschedulable.")
    assert page.locator("main [aria-live]").count() == 0
    page.close()


def test_ages_tick_and_say_the_exact_time_in_both_zones(browser: Browser, site: Site) -> None:
    page = site.open(browser, POD, timezone_id="America/New_York", locale="en-GB")
    before = page.locator("#freshness time").first.text_content()
    page.wait_for_function("t => document.querySelector('#freshness time').textContent !== t", arg=before)
    age = page.locator("#headline time[data-age]").first
    age.hover()
    title = age.get_attribute("title") or ""
    assert "UTC" in title
    assert "EST" in title or "GMT-5" in title
    page.keyboard.press("x")
    expect(age).to_contain_text("/2026")
    page.close()


def test_what_is_copied_is_the_command(browser: Browser, site: Site) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(site.url + POD)
    page.get_by_role("button", name="kubectl get").first.click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "kubectl -n ml get pod train -o yaml"
    context.close()


def test_a_wall_screen_is_live_and_shows_no_controls(browser: Browser, site: Site) -> None:
    page = site.open(browser, "/?kiosk=1")
    expect(page.locator(".sections")).to_be_hidden()
    expect(page.locator("#search-open")).to_be_hidden()
    normal = 15
    assert page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)") > normal
    site.scene.put(build.pod("another", "ml", claims={"gpu": "absent"}))
    expect(page.locator("#counts dd").first).to_have_text("3")
    page.close()


def test_paper_has_no_controls(browser: Browser, site: Site) -> None:
    page = site.open(browser, POD)
    page.emulate_media(media="print")
    for part in (".top", ".copy", ".foot"):
        expect(page.locator(part).first).to_be_hidden()
    expect(page.locator("h1")).to_be_visible()
    page.close()


# --- rows that come, go and change places -----------------------------------------------------------------------------


def crowd(show: Show, count: int = 30) -> Site:
    scene = pages.scene()
    for i in range(count):
        scene.put(build.pod(f"crowd-{i:02}", "ml", claims={"gpu": "absent"}))
    return show(scene)


def newer(site: Site, page: Page, count: int = 3) -> None:
    """Changes that come on top of the list, seen when they have come."""
    for i in range(count):
        site.scene.put(build.pod(f"newer-{i}", "ml", claims={"gpu": "absent"}))
    expect(page.locator("main")).to_contain_text(f"newer-{count - 1}")


@pytest.mark.parametrize("path", ["/changes", "/"])
def test_the_focus_stays_on_its_change_while_newer_ones_come(browser: Browser, show: Show, path: str) -> None:
    site = crowd(show)
    page = site.open(browser, path)
    site.scene.put(build.pod("read", "ml", claims={"gpu": "absent"}))
    page.locator("main :is(.stream th, .changes li) a", has_text="ml/read").first.focus()
    newer(site, page)
    assert page.evaluate("document.activeElement.textContent") == "ml/read"
    page.keyboard.press("Enter")
    page.wait_for_url("**/ns/ml/pods/read")
    page.close()


def test_the_selected_text_stays_in_its_row_while_newer_ones_come(browser: Browser, show: Show) -> None:
    site = crowd(show)
    page = site.open(browser, "/changes")
    page.evaluate(
        """() => { const t = [...document.querySelectorAll('main th a')].find(a => a.textContent.includes('crowd-20'))
             getSelection().setBaseAndExtent(t.firstChild, 3, t.firstChild, 11) }"""
    )
    newer(site, page)
    assert page.evaluate("getSelection().toString()") == "crowd-20"
    page.close()


def test_the_focus_goes_to_no_other_object_when_its_row_goes(browser: Browser, show: Show) -> None:
    """Pods that wait for a class have neither an id nor a place of their own."""
    scene = pages.scene()
    pods = [build.pod(f"a-{i}", "ml", claims={"gpu": "train-gpu"}) for i in range(3)]
    scene.put(*pods)
    site = show(scene)
    page = site.open(browser, "/classes/gpu")
    link = page.locator("main tr th a", has_text="ml/a-1")
    link.focus()
    site.scene.delete(pods[0])
    expect(page.locator("main tr th a", has_text="ml/a-0")).to_have_count(0)
    expect(link).to_be_focused()
    site.scene.delete(pods[1])
    expect(link).to_have_count(0)
    expect(page.locator("main tr", has_text="ml/a-2")).to_be_focused()
    page.keyboard.press("Enter")
    assert page.url.endswith("/classes/gpu")
    page.close()


@pytest.mark.parametrize(
    ("gone", "key", "goes_to"),
    [
        (2, "j", "crowd-03"),
        (2, "k", "crowd-01"),
        (2, "Tab", "crowd-03"),
        (4, "j", "crowd-03"),
        (4, "k", "crowd-02"),
        (4, "Tab", "crowd-03"),
    ],
)
def test_the_keyboard_goes_on_from_where_the_row_was_that_left_the_list(
    browser: Browser, show: Show, gone: int, key: str, goes_to: str
) -> None:
    """More rows may go, come and change meanwhile: the place is that of the row which stands there."""
    scene = pages.scene()
    pods = [build.pod(f"crowd-{i:02}", "ml", claims={"gpu": "absent"}) for i in range(5)]
    scene.delete(pages.TRAIN, pages.NEW)
    scene.put(*pods)
    site = show(scene)
    page = site.open(browser, "/pods?sort=pod")
    rows = page.locator("main .pods tbody tr")
    rows.nth(gone).locator("th a").focus()
    site.scene.delete(pods[gone])
    expect(rows).to_have_count(4)
    stands = rows.nth(min(gone, 3))
    expect(stands).to_be_focused()
    site.scene.put(build.claim("absent", "ml", mode="Immediate"))
    expect(stands).not_to_contain_text("does not exist")
    expect(stands).to_be_focused()
    page.keyboard.press(key)
    assert goes_to in (page.evaluate("document.activeElement.textContent") or "")
    expect(page.locator("main tr a:focus")).to_have_count(1)
    page.close()


def test_the_place_of_a_list_that_empties_is_where_it_was(browser: Browser, site: Site) -> None:
    page = site.open(browser, "/pods")
    page.locator("main .pods tbody th a").last.focus()
    site.scene.delete(pages.TRAIN, pages.NEW)
    expect(page.locator("#list .empty-text")).to_be_visible()
    expect(page.locator("#list")).to_be_focused()
    page.close()


@pytest.mark.parametrize("how", ["scrolled", "focus", "selected"])
def test_what_is_read_stays_in_its_place_while_changes_come_on_top(browser: Browser, show: Show, how: str) -> None:
    site = crowd(show)
    page = site.open(browser, "/changes", viewport={"width": 1366, "height": 600})
    page.evaluate(
        """how => { const links = [...document.querySelectorAll('main th a')]
             const link = links.find(a => a.textContent.includes('crowd-15'))
             link.scrollIntoView({block: 'center'})
             if (how === 'focus') link.focus({preventScroll: true})
             if (how === 'selected') getSelection().selectAllChildren(link) }""",
        how,
    )
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    where = """() => [...document.querySelectorAll('main th a')].find(a => a.textContent.includes('crowd-15'))
      .getBoundingClientRect().top"""
    before = page.evaluate(where)
    newer(site, page)
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert abs(page.evaluate(where) - before) < 2
    page.close()


@pytest.mark.parametrize("how", ["focus", "selected"])
def test_a_row_that_was_read_and_scrolled_away_from_moves_nothing(browser: Browser, show: Show, how: str) -> None:
    """Only what is in sight is read: a place far below that comes to stand elsewhere is no reason to move the page."""
    site = crowd(show)
    page = site.open(browser, "/claims", viewport={"width": 1366, "height": 600})
    for i in range(40):
        site.scene.put(build.claim(f"far-{i:02}", "ml"))
    expect(page.locator("main")).to_contain_text("far-39")
    find = "name => [...document.querySelectorAll('main th a')].find(a => a.textContent.includes(name))"
    page.evaluate(
        f"""how => {{ const find = {find}
             if (how === 'focus') find('far-39').focus({{preventScroll: true}})
             else getSelection().selectAllChildren(find('far-39'))
             find('far-10').scrollIntoView({{block: 'center'}}) }}""",
        how,
    )
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(page.locator("main th a", has_text="far-39")).not_to_be_in_viewport()
    where = f"() => ({find})('far-10').getBoundingClientRect().top"
    before = page.evaluate(where)
    site.scene.put(*(build.claim(f"far-2{i}-and-more", "ml") for i in range(3)))
    expect(page.locator("main")).to_contain_text("far-22-and-more")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert abs(page.evaluate(where) - before) < 2
    page.close()


def test_a_list_at_its_top_shows_what_comes(browser: Browser, show: Show) -> None:
    site = crowd(show)
    page = site.open(browser, "/changes", viewport={"width": 1366, "height": 600})
    newer(site, page)
    assert page.evaluate("scrollY") == 0
    expect(page.locator("main tbody tr").first).to_be_in_viewport()
    page.close()


@pytest.mark.parametrize("width", [1366, 390])
def test_a_list_whose_head_is_in_sight_shows_what_comes(browser: Browser, show: Show, width: int) -> None:
    """Who scrolled past the filters reads the newest rows; only further down does the page follow what is read."""
    site = crowd(show)
    page = site.open(browser, "/changes", viewport={"width": width, "height": 600})
    rows = page.locator("main .stream tbody tr")
    place = rows.first.evaluate("""row => new Promise(done => {
        addEventListener('scroll', () => requestAnimationFrame(() => done(scrollY)), {once: true})
        scrollBy(0, row.getBoundingClientRect().top - 150) })""")
    assert place > 0
    for name in ("one", "two", "three"):
        site.scene.put(build.pod(name, "ml", claims={"gpu": "absent"}))
        expect(rows.first).to_contain_text(f"ml/{name}")
        expect(rows.first).to_be_in_viewport()
        assert abs(page.evaluate("scrollY") - place) < 2
    page.close()


def test_ages_of_what_was_last_seen_stand_still(browser: Browser, show: Show) -> None:
    scene = pages.scene()
    scene.sync("podschedulingcontexts", "forbidden", error="no role")
    site = show(scene)
    page = site.open(browser, "/negotiations")
    expect(page.locator("#list .as-last-seen")).to_be_visible()
    # The same age in a list, in its note and elsewhere: the first alone stands still.
    page.evaluate(
        """() => ['#list td', '.as-last-seen', '.data-age'].forEach(path => {
             const age = document.querySelector(`${path} time[data-age]`)
             age.dateTime = new Date(Date.now() - 5000).toISOString()
             age.textContent = 'of then'
             age.className = 'tried' }) """
    )
    page.wait_for_function("document.querySelectorAll('.tried').length === 3")
    expect(page.locator(".as-last-seen .tried")).to_have_text(re.compile(r"^\d+s$"))
    expect(page.locator(".data-age .tried")).to_have_text(re.compile(r"^\d+s$"))
    expect(page.locator("#list td .tried")).to_have_text("of then")
    page.close()
