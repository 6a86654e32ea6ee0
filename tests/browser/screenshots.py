"""Pictures of the main pages, taken of the demo: `make screenshots` (python -m tests.browser.screenshots [directory]).

Each is a PNG of less than 150 kB in docs/screenshots.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, Page, sync_playwright

from tests.acceptance.processes import ROOT, Up
from tests.browser.conftest import FLAGS, find_chromium

LARGEST: Final = 150_000  # bytes
HEIGHTS: Final = (900, 780, 660, 540)  # the first one that is small enough
WAITING: Final = "table.pods tbody tr"
# name -> path, theme, width; FIRST: the first pod that the page lists
FIRST: Final = "/pods?outcome=Waiting"
PICTURES: Final = {
    "overview": ("/", "light", 1366),
    "pods": ("/pods?outcome=any", "light", 1366),
    "pod": (FIRST, "light", 1366),
    "pod-dark": (FIRST, "dark", 1366),
    "pod-narrow": (FIRST, "light", 390),
    "claims": ("/claims", "light", 1366),
    "negotiations": ("/negotiations", "light", 1366),
    "nodes": ("/nodes", "light", 1366),
    "doctor": ("/doctor", "light", 1366),
    "search": ("/search?q=gpu", "dark", 1366),
}
SETTLED: Final = 12_000  # ms after the first pod: enough for the demo's first negotiations


def main() -> None:
    into = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/screenshots"
    into.mkdir(parents=True, exist_ok=True)
    with Up("--demo", "--port", "0") as up, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        url = up.url().rstrip("/")
        _wait(browser, url)
        for name, (path, theme, width) in PICTURES.items():
            page = browser.new_page(viewport={"width": width, "height": HEIGHTS[0]})
            page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
            page.goto(url + path)
            if path == FIRST:
                page.locator("table.pods tbody th a").first.click()
            page.wait_for_selector('#live-state[data-state="live"]')
            picture = _small_enough(page, width)
            (into / f"{name}.png").write_bytes(picture)
            print(f"{into / name}.png {len(picture)} bytes")
            page.close()
        browser.close()


def _wait(browser: Browser, url: str) -> None:
    page = browser.new_page()
    page.goto(url + "/pods?outcome=any")
    page.wait_for_selector(WAITING, timeout=60_000)
    page.wait_for_timeout(SETTLED)
    page.close()


def _small_enough(page: Page, width: int) -> bytes:
    for height in HEIGHTS:
        picture = page.screenshot(clip={"x": 0, "y": 0, "width": width, "height": height})
        if len(picture) < LARGEST:
            return picture
    raise SystemExit(f"{page.url}: no picture of it is smaller than {LARGEST} bytes")


if __name__ == "__main__":
    main()
