"""The selector bench answers while somebody types, and its address goes on meaning what was typed."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Browser, expect

from tests import pages
from tests.browser.conftest import Site
from tests.scene import Scene

MODEL = 'device.attributes["gpu.example.com"].model'


def test_what_is_typed_is_tried_at_once_and_stands_in_the_address(
    browser: Browser, show: Callable[[Scene], Site]
) -> None:
    site = show(pages.scene())
    page = site.open(browser, "/selectors")
    expect(page.get_by_role("status").filter(has_text="devices")).to_contain_text("2 of 2 devices")
    page.get_by_label("CEL selector").press_sequentially(f'{MODEL} == "h100"')
    expect(page.locator("#live")).to_contain_text("None of 2 devices in usable pools match.")
    expect(page.locator("#live")).to_contain_text("model = a100 (2)")
    expect(page.get_by_label("CEL selector")).to_be_focused()
    page.wait_for_function("location.search.includes('h100')")
    assert parse_qs(urlsplit(page.url).query)["expression"] == [f'{MODEL} == "h100"']
    page.get_by_label("CEL selector").fill(f"{MODEL} ==")
    expect(page.locator("#live")).to_contain_text("line 1, column")
    page.reload()
    expect(page.get_by_label("CEL selector")).to_have_value(f"{MODEL} ==")
    assert site.complaints == []
    page.close()


def test_it_works_without_scripts(browser: Browser, show: Callable[[Scene], Site]) -> None:
    site = show(pages.scene())
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site.url + "/selectors")
    page.get_by_label("CEL selector").fill(f'{MODEL} == "a100" &&\ndevice.driver == "none"')
    page.get_by_role("button", name="Try it").click()
    expect(page.locator("#live")).to_contain_text("None of 2 devices")
    expect(page.locator("#live")).to_contain_text("driver = gpu.example.com (2)")
    context.close()
