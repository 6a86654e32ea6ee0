"""Findings and changes in Chromium: they come by themselves, and stand still when they are told to."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, expect

from tests import build
from tests.browser.conftest import Site
from tests.browser.test_layout import OUTSIDE
from tests.scene import Scene

Show = Callable[[Scene], Site]
LOST = build.pod("lost", "ml", claims={"gpu": "none"})


def make_scene() -> Scene:
    return Scene(build.node("node-0"), build.namespace("ml"), build.resource_class(), LOST)


def test_a_finding_is_resolved_on_the_open_page(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    page = site.open(browser, "/doctor")
    page.get_by_role("link", name="Claim does not exist").click()
    expect(page.locator("h1")).to_have_text("Claim does not exist")
    expect(page.locator(".command")).to_have_text("kubectl -n ml get resourceclaim.resource.k8s.io none -o yaml")
    page.wait_for_selector('#live-state[data-state="live"]')
    site.scene.now = time.time()
    site.scene.put(build.claim("none", "ml"))
    site.scene.look()
    site.scene.web.doctor.look()
    expect(page.locator("#finding")).to_contain_text("Resolved")
    assert site.complaints == []
    page.close()


def test_a_finding_comes_to_the_open_pages_of_its_objects(browser: Browser, show: Show) -> None:
    talk = build.pod("talk", "ml", claims={"gpu": "wanted"})
    site = show(make_scene())
    scene = site.scene
    scene.put(talk, build.claim("wanted", "ml"), build.context(talk, potential=["node-0"], selected="node-0"))
    scene.look()
    scene.web.doctor.look(scene.now)
    paths = ("/nodes/node-0", "/ns/ml/negotiations/talk", "/drivers/gpu.example.com", "/ns/ml/pods/talk")
    opened = [site.open(browser, path) for path in paths]
    scene.put(build.context(talk, potential=["other"], selected="node-0"))
    scene.look()
    scene.web.doctor.look(scene.now)
    for page in opened:
        expect(page.locator("#findings")).to_contain_text("is not among the potential nodes")
    opened[0].locator("#findings a").first.click()
    expect(opened[0].locator("#finding")).to_contain_text("The selected node node-0")
    assert site.complaints == []
    for page in opened:
        page.close()


@pytest.mark.parametrize("width", [390, 1366])
def test_what_to_do_and_its_command_are_in_each_row(browser: Browser, show: Show, width: int) -> None:
    site = show(make_scene())
    name = "a-training-job-with-a-name-" + "x" * 120
    site.scene.put(build.pod(name, "research-and-training", claims={"gpu": "none-" + "y" * 120}))
    site.scene.look()
    site.scene.web.doctor.look(time.time())
    page = site.open(browser, "/doctor", viewport={"width": width, "height": 800})
    for path, within in (("/doctor", "#list tbody tr"), (f"/ns/research-and-training/pods/{name}", "#findings li")):
        page.goto(site.url + path)
        row = page.locator(within, has_text="Create the claim.").last
        copy = row.get_by_role("button", name="Copy kubectl")
        assert str(copy.get_attribute("data-copy")).startswith("kubectl -n ")
        copy.click()
        expect(row).to_contain_text("Copied")
        box = copy.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= width
        assert page.evaluate(OUTSIDE) == []
    assert site.complaints == []
    page.close()


def test_a_filter_of_findings_is_in_the_address(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    page = site.open(browser, "/doctor")
    page.get_by_label("Severity").select_option("warning")
    page.wait_for_url("**/doctor?severity=warning")
    expect(page.locator("table.findings tbody tr")).to_have_count(1)
    page.locator("#q").press_sequentially("nothing like it")
    expect(page.locator("#list")).to_contain_text("No finding matches")
    assert site.complaints == []
    page.close()


def test_changes_come_until_they_are_paused(browser: Browser, show: Show) -> None:
    site = show(make_scene())
    page = site.open(browser, "/changes")
    site.scene.put(build.node("node-new"))
    expect(page.locator("table.stream tbody tr").first).to_contain_text("node-new")
    page.get_by_role("link", name="Pause here").click()
    expect(page.locator(".stream-state")).to_contain_text("Stands still")
    site.scene.put(build.node("node-newer"))
    page.reload()
    expect(page.locator("table.stream tbody tr").first).to_contain_text("node-new")
    expect(page.locator("table.stream")).not_to_contain_text("node-newer")
    page.get_by_role("link", name="Back to the newest").click()
    expect(page.locator("table.stream tbody tr").first).to_contain_text("node-newer")
    assert site.complaints == []
    page.close()
