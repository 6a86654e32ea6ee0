"""Pages in Chromium: they update by themselves, keep the reader's place, and the console stays empty."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, expect

from dradash.store.model import StoreUnavailable
from tests import build
from tests.browser.conftest import Site
from tests.scene import Scene

Show = Callable[[Scene], Site]
TRAIN = build.pod("train", "ml", claims={"gpu": "gpu"})
NODES = [f"node-{i}" for i in range(8)]


def make_scene() -> Scene:
    return Scene(*build.nodes(8), build.resource_class(), TRAIN, build.claim("gpu", "ml"))


def test_the_pod_page_follows_a_negotiation_to_its_end(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    page = site.open(browser, "/ns/ml/pods/train")
    steps = (
        (build.context(TRAIN, potential=NODES), "proposes 8 nodes"),
        (build.context(TRAIN, potential=NODES, selected="node-3"), "selects node-3"),
        (build.claim("gpu", "ml", allocation=build.allocation("node-3")), "allocates"),
    )
    for change, words in steps:
        site.scene.put(change)
        expect(page.locator("#negotiation")).to_contain_text(words)
    expect(page.locator("#headline")).to_contain_text("Schedulable")
    site.scene.put(build.pod("train", "ml", claims={"gpu": "gpu"}, node="node-3"))
    expect(page.locator("#headline")).to_contain_text("Bound")
    site.scene.delete(TRAIN)
    expect(page.locator("#headline")).to_contain_text("This pod is gone")
    assert site.complaints == []
    page.close()


def test_the_readers_place_is_kept(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    site.scene.put(build.context(TRAIN, potential=NODES, selected="node-0"))
    page = site.open(browser, "/ns/ml/pods/train")
    page.locator("#negotiation details summary").first.click()
    page.locator("#negotiation summary").first.focus()
    site.scene.put(build.context(TRAIN, potential=NODES, selected="node-0", unsuitable={"gpu": ["node-1"]}))
    expect(page.locator("#negotiation")).to_contain_text("finds 1 of 8 nodes unsuitable")
    expect(page.locator("#negotiation details").first).to_have_attribute("open", "")
    page.wait_for_function("document.activeElement.tagName === 'SUMMARY'")
    page.close()


def test_what_is_typed_in_a_filter_survives_updates_and_is_in_the_address(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    page = site.open(browser, "/pods")
    page.locator("#q").press_sequentially("tra")
    page.wait_for_url("**/pods?q=tra")
    site.scene.put(build.pod("trainer", "ml", claims={"gpu": "gpu"}), build.pod("other", "ml", claims={"gpu": "gpu"}))
    expect(page.locator("table.pods tbody tr")).to_have_count(2)
    expect(page.locator("#q")).to_have_value("tra")
    expect(page.locator("#q")).to_be_focused()
    expect(page.locator("form.filters select")).to_have_count(5)
    page.reload()
    expect(page.locator("table.pods tbody tr")).to_have_count(2)
    assert site.complaints == []
    page.close()


def test_one_row_changes_in_place(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    page = site.open(browser, "/pods")
    expect(page.locator("table.pods")).to_contain_text("Waiting")
    page.evaluate("document.querySelector('table.pods').dataset.mine = 'kept'")
    site.scene.put(build.claim("gpu", "ml", mode="Immediate"))
    expect(page.locator("table.pods tbody")).to_contain_text("Unschedulable")
    expect(page.locator("table.pods")).to_have_attribute("data-mine", "kept")
    expect(page.locator("form.filters")).to_have_count(1)
    page.close()


def test_a_lost_connection_is_said_and_made_good(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    page = site.open(browser, "/ns/ml/pods/train")
    site.stop()
    expect(page.locator("#live-state")).to_contain_text("not live, reconnecting")
    site.scene.put(build.context(TRAIN, potential=NODES))
    site.start()
    expect(page.locator("#live-state")).to_have_attribute("data-state", "live")
    expect(page.locator("#negotiation")).to_contain_text("proposes 8 nodes")
    page.close()


@pytest.mark.parametrize("path", ["/ns/ml/pods/train", "/?kiosk=1"])
def test_a_page_is_not_called_live_while_its_data_is_old(
    browser: Browser, show: Show, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """However well its socket is; and it is live again when the data is."""
    site = show(make_scene())
    page = site.open(browser, path)
    state = page.locator("#live-state")
    expect(state).to_have_text("live")

    def refuse(*_: object) -> None:
        raise StoreUnavailable("Redis cannot be reached")

    with monkeypatch.context() as patched:
        for name in ("changes", "lease"):
            patched.setattr(site.scene.model, name, refuse)
        expect(page.get_by_role("alert")).to_contain_text("This is old.")
        expect(state).to_have_text("connected, old data")
        expect(state).to_have_attribute("data-state", "old")
        page.reload()  # and on a page that is loaded meanwhile
        expect(state).to_have_text("connected, old data")
    expect(state).to_have_text("live")
    page.close()


def test_a_page_is_not_called_live_while_nobody_watches_the_cluster(browser: Browser, show: Show) -> None:
    scene = make_scene()
    scene.model.release("test", scene.epoch)
    site = show(scene)
    page = browser.new_page()
    page.goto(site.url + "/pods")
    expect(page.locator("#live-state")).to_have_text("connected, old data")
    page.close()


def test_an_object_that_appears_is_shown_without_a_click(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    page = site.open(browser, "/ns/ml/pods/late")
    expect(page.locator("h1")).to_contain_text("No Pod")
    site.scene.put(build.pod("late", "ml", claims={"gpu": "gpu"}))
    expect(page.locator("h1")).to_have_text("late")
    page.close()


@pytest.mark.parametrize(("path", "name"), [("node-0%3Fx", "node-0?x"), ("node-0%23x", "node-0#x")])
def test_a_page_follows_its_own_object_whatever_the_name(browser: Browser, show: Show, path: str, name: str) -> None:
    site = show(make_scene())
    page = site.open(browser, f"/nodes/{path}")
    site.scene.put(build.node(name))
    expect(page.locator("h1")).to_have_text(name)
    assert [c for c in site.complaints if "404" not in c] == []  # the first answer was one
    page.close()


def test_a_grid_of_5000_nodes_comes_on_its_own(browser: Browser, show: Show) -> None:
    members = [build.node(f"node-{i}", labels={"zone": "ab"[i % 2]}) for i in range(5000)]
    suitable = build.resource_class(suitable=build.with_labels(zone="a"))
    site = show(Scene(*members, suitable, TRAIN, build.claim("gpu", "ml")))
    page = site.open(browser, "/ns/ml/pods/train")
    expect(page.locator(".grid .cells > a")).to_have_count(5000)
    page.locator(".grid .cells > a", has_text="node-1").first.hover()
    expect(page.locator(".cell-says")).to_contain_text("A excluded by resource class node filter")
    assert site.complaints == []
    page.close()


@pytest.mark.parametrize("width", [390, 1366])
@pytest.mark.parametrize("path", ["/", "/pods", "/ns/ml/pods/train", "/claims", "/ns/ml/claims/gpu"])
def test_no_page_scrolls_sideways(browser: Browser, show: Show, path: str, width: int) -> None:
    scene = make_scene()
    scene.sync("resourceclaimtemplates", "forbidden", error="resourceclaimtemplates is forbidden: " + "x" * 200)
    scene.put(build.context(TRAIN, potential=NODES, unsuitable={"gpu": NODES}))
    page = show(scene).open(browser, path, viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_the_theme_is_remembered(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    page = site.open(browser, "/", color_scheme="light")
    page.locator("#theme").click()
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.close()


def test_pages_work_without_javascript(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    page = browser.new_page(java_script_enabled=False)
    page.goto(site.url + "/pods")
    page.locator("#q").fill("train")
    page.get_by_role("button", name="Filter").click()
    assert "q=train" in page.url
    page.get_by_role("link", name="train").first.click()
    expect(page.locator("h1")).to_have_text("train")
    page.close()
