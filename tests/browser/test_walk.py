"""A reader walks through every page of real processes: scenarios of the simulated cluster, and a recorded one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests import pages
from tests.acceptance.processes import ROOT, Up
from tests.patience import PATIENCE

RECORDING: Final = ROOT / "tests/parity/data/classic-1.30.jsonl"
# One object's page of each sort is looked at, the first that a list links to.
OBJECTS: Final = tuple(
    re.compile(p)
    for p in (
        r"/ns/[^/]+/pods/[^/]+$",
        r"/ns/[^/]+/claims/[^/]+$",
        r"/nodes/[^/]+$",
        r"/classes/[^/]+$",
        r"/drivers/[^/]+$",
    )
)

# What the scenario's name promises, as a reader finds it: path -> words.
SCENARIOS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "silent-driver": {
        "/ns/team-b/pods/silent": ("waiting for resource driver", "Must act next", "driver"),
        "/pods": ("silent", "Waiting"),
    },
    "every-node-unsuitable": {
        "/ns/team-b/pods/train-stuck": ("unsuitable", "excluded by resource class node filter"),
        "/search?q=train-stuck": ("train-stuck",),
    },
    "deletion-with-finalizer": {"/claims": ("Deleting",)},
}
RECORDED: Final[dict[str, tuple[str, ...]]] = {
    "/ns/team-b/pods/silent": ("Waiting", "waiting for resource driver to provide information"),
    "/ns/team-b/pods/train-stuck": ("unsuitable",),
    "/ns/team-a/pods/train-0": ("Bound",),
    "/claims": ("gpu-shared", "ghost-claim"),
    "/search?q=pod/silent -n team-b": ("1 result",),
    "/pods": ("train-stuck", "silent"),
}


class Walk:
    """A page in Chromium that remembers what its console complained of, and where."""

    def __init__(self, browser: Browser, url: str) -> None:
        self.url = url.rstrip("/")
        self.complaints: list[str] = []
        self.page: Page = browser.new_page(viewport={"width": 1366, "height": 900})
        self.page.on("console", lambda m: self._note(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda e: self._note(str(e)))

    def _note(self, text: str) -> None:
        self.complaints.append(f"{self.page.url}: {text}")

    def to(self, path: str) -> None:
        answer = self.page.goto(self.url + path)
        assert answer is not None
        assert answer.status == 200, path
        self.page.wait_for_selector('#live-state[data-state="live"]')
        expect(self.page.locator("h1")).to_have_count(1)

    def links(self) -> list[str]:
        found = self.page.eval_on_selector_all("main a[href^='/']", "all => all.map(a => a.getAttribute('href'))")
        return [urlsplit(link).path for link in found]

    def every_page(self) -> set[str]:
        """Each section, and from there one page of each sort of object. The paths that were walked."""
        wanted = list(OBJECTS)
        waiting = [line.path for line in pages.served() if not line.is_object]
        walked = set()
        while waiting:
            path = waiting.pop(0)
            self.to(path)
            walked.add(path)
            for link in self.links():
                if sort := next((w for w in wanted if w.search(link)), None):
                    wanted.remove(sort)
                    waiting.append(link)
        return walked

    def see(self, facts: dict[str, tuple[str, ...]]) -> None:
        for path, words in facts.items():
            self.to(path)
            for text in words:
                expect(self.page.locator("main")).to_contain_text(text, timeout=PATIENCE * 1000)


def walk(browser: Browser, url: str, facts: dict[str, tuple[str, ...]]) -> None:
    reader = Walk(browser, url)
    reader.page.goto(url + "pods?outcome=any")
    for path in facts:
        if "/pods/" in path:  # it comes when its time in the scenario has come
            reader.page.wait_for_selector(f'table.pods a[href="{path}"]', timeout=PATIENCE * 1000)
    reader.see(facts)
    walked = reader.every_page()
    assert {line.path for line in pages.served() if not line.is_object} <= walked
    assert any("/pods/" in path for path in walked)
    assert any("/claims/" in path for path in walked)
    assert reader.complaints == []
    reader.page.close()


@pytest.mark.timeout(240)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_page_of_a_scenario(browser: Browser, scenario: str) -> None:
    with Up("--demo", "--scenario", scenario, "--port", "0") as up:
        walk(browser, up.url(), SCENARIOS[scenario])


@pytest.mark.timeout(240)
def test_every_page_of_a_recorded_cluster(browser: Browser) -> None:
    assert Path(RECORDING).is_file()
    with Up("--replay", str(RECORDING), "--speed", "20", "--port", "0") as up:
        walk(browser, up.url(), RECORDED)
