"""The grid of nodes in Chromium: by key, by pointer, with and without a script."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, expect

from tests import build
from tests.browser.conftest import Site
from tests.browser.test_accessibility import in_each_look
from tests.scene import Scene

Show = Callable[[Scene], Site]
ZONE = "topology.kubernetes.io/zone"
PATH = "/ns/ml/pods/train/nodes"
TRAIN = build.pod("train", "ml", claims={"gpu": "gpu"})


def make_scene(count: int = 12) -> Scene:
    """Every second node is excluded by the class; zones a, b, c in turn."""
    members = [
        build.node(f"node-{i:04}", labels={ZONE: f"zone-{'abc'[i % 3]}", "rack": f"r{i % 4}", "gpu": "yn"[i % 2]})
        for i in range(count)
    ]
    return Scene(*members, build.resource_class(suitable=build.with_labels(gpu="y")), TRAIN, build.claim("gpu", "ml"))


def test_arrow_keys_go_through_the_cells_with_one_tab_stop_and_say_each(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    page = site.open(browser, PATH)
    assert page.locator('.cells > a[tabindex="0"]').count() == 1
    page.locator('.cells > a[tabindex="0"]').focus()
    says = page.locator("#cell-says")
    expect(says).to_have_text("node-0000 zone-a · ✓ pass")
    page.keyboard.press("ArrowRight")
    expect(says).to_have_text("node-0003 zone-a · A excluded by resource class node filter")
    page.keyboard.press("End")
    expect(page.locator(":focus")).to_have_text("node-0011")
    page.keyboard.press("ArrowUp")
    expect(page.locator(":focus")).to_have_text("node-0010")  # the last of the group above, as the line is short
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    expect(page.locator(":focus")).to_have_text("node-0001")
    page.keyboard.press("Tab")
    expect(page.locator(".cells > a:focus")).to_have_count(0)
    page.keyboard.press("Shift+Tab")
    expect(page.locator(":focus")).to_have_text("node-0001")
    assert page.locator('.cells > a[tabindex="0"]').count() == 1
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.url == site.url + "/nodes/node-0001"
    page.close()


def test_reasons_hide_at_once_and_stay_hidden_in_the_address(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    page = site.open(browser, PATH)
    page.locator('[data-hides="k1"]').check()
    expect(page.locator(".cells > a:visible")).to_have_count(6)
    expect(page).to_have_url(re.compile(r"\?hide=[0-9a-f]+$"))
    page.locator(".cells > a").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(":focus")).to_have_text("node-0006")  # hidden cells are passed over
    page.reload()
    expect(page.locator(".cells > a:visible")).to_have_count(6)
    page.locator('[data-hides="k1"]').uncheck()
    expect(page.locator(".cells > a:visible")).to_have_count(12)
    assert "hide" not in page.url
    page.close()


def test_what_is_hidden_stays_hidden_when_the_verdict_changes(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    page = site.open(browser, PATH)
    page.locator('[data-hides="k0"]').check()
    page.locator(".cells > a:visible").first.focus()
    focused = page.locator(":focus").inner_text()
    site.scene.put(build.node("node-0000", labels={ZONE: "zone-a", "rack": "r0", "gpu": "n"}))
    expect(page.locator(".cells > a:visible")).to_have_count(7)
    expect(page.locator('[data-hides="k0"]')).to_be_checked()
    expect(page.locator(":focus")).to_have_text(focused)
    assert page.locator('.cells > a[tabindex="0"]').count() == 1
    assert site.complaints == []
    page.close()


def test_another_label_groups_and_is_in_the_address(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    page = site.open(browser, PATH)
    expect(page.locator(".cell-group h2")).to_have_count(3)
    page.get_by_label("Grouped by").select_option("rack")
    page.wait_for_url("**/nodes?group=rack")
    expect(page.locator(".cell-group h2").first).to_contain_text("r0")
    expect(page.locator(".cell-group h2")).to_have_count(4)
    page.close()


def test_the_names_of_a_reason_can_be_copied(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(site.url + PATH)
    page.locator("#grid-names summary", has_text="excluded").click()
    page.locator("#grid-names details[open]").get_by_role("button", name="Copy the names").click()
    expect(page.locator("#grid-names details[open] .copy")).to_contain_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.split("\n") == [f"node-{i:04}" for i in range(1, 12, 2)]
    context.close()


def test_the_grid_works_without_a_script(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    page = browser.new_page(java_script_enabled=False)
    page.goto(site.url + PATH)
    page.locator('[data-hides="k1"]').check()
    page.get_by_label("Grouped by").select_option("rack")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".cells > a:visible")).to_have_count(6)
    expect(page.locator(".cell-group h2")).to_have_count(4)
    page.close()


@pytest.mark.parametrize("count", [1, 12, 200])
def test_the_grid_does_not_scroll_sideways(browser: Browser, show: Show, count: int) -> None:
    page = show(make_scene(count)).open(browser, PATH)
    expect(page.locator(".cells > a")).to_have_count(count)
    for width in (390, 1366):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_ten_thousand_nodes_are_one_element_each_and_answer_at_once(browser: Browser, show: Show) -> None:
    site = show(make_scene(10_000))
    page = site.open(browser, PATH)
    expect(page.locator(".cells > a")).to_have_count(10_000)
    assert page.evaluate("document.querySelectorAll('*').length") < 10_500
    toggled = page.evaluate(
        """() => new Promise(done => {
          const began = performance.now()
          document.querySelector('[data-hides="k1"]').click()
          requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)))
        })"""
    )
    assert toggled < 2000  # some 100 ms on a machine of its own
    page.locator(".cells > a:visible").first.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#cell-says")).to_contain_text("pass")
    assert site.complaints == []
    page.close()


@pytest.mark.parametrize("count", [12, 200, 1600])  # with names in the cells, as squares, as small ones
def test_axe_finds_nothing_in_the_grid(browser: Browser, show: Show, count: int) -> None:
    page = show(make_scene(count)).open(browser, PATH)
    page.evaluate("document.querySelectorAll('main details').forEach(d => { d.open = true })")
    assert in_each_look(page) == {}
    page.close()
