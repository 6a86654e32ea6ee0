"""A Chromium, and a web server in this process that shows a Scene."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, expect, sync_playwright

from dradash.reader import current
from tests.patience import PATIENCE
from tests.scene import Scene

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS: Final = (
    "--no-sandbox",  # tests may run as root, where Chromium's sandbox refuses to
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find_chromium() -> str:
    """Path of an installed Chromium or Chrome; fails with what to install."""
    named = os.environ.get("CHROMIUM", "")
    found = named or next(filter(None, map(shutil.which, NAMES)), "")
    if not found:
        with sync_playwright() as playwright:
            bundled = Path(playwright.chromium.executable_path)
            found = str(bundled) if bundled.exists() else ""
    if not found:
        pytest.fail("no Chromium: apt-get install chromium, or .venv/bin/playwright install chromium")
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        expect.set_options(timeout=PATIENCE * 1000)
        chromium = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        yield chromium
        chromium.close()


@dataclass
class Site:
    scene: Scene
    url: str
    complaints: list[str] = field(default_factory=list)  # errors and warnings of the browser's console
    stop: Callable[[], None] = lambda: None
    start: Callable[[], None] = lambda: None

    def open(self, browser: Browser, path: str, **options: object) -> Page:
        page = browser.new_page(**options)  # type: ignore[arg-type]  # Playwright's own many keywords
        page.set_default_timeout(PATIENCE * 1000)
        page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: self.complaints.append(str(e)))
        page.goto(self.url + path)
        page.wait_for_selector('#live-state[data-state="live"]')
        return page


class _Server:
    """uvicorn on one port, to be stopped and started again."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self._thread: threading.Thread | None = None
        self._server: uvicorn.Server | None = None

    def start(self) -> None:
        from dradash.asgi import application  # noqa: PLC0415 - needs Django, which pytest-django sets up later

        config = uvicorn.Config(application, host="127.0.0.1", port=self.port, log_level="error", lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, name="uvicorn")
        self._thread.start()
        while not self._server.started:
            self._thread.join(0.01)
            assert self._thread.is_alive(), "the server did not start"

    def stop(self) -> None:
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(PATIENCE)
            assert not self._thread.is_alive()


@pytest.fixture
def show() -> Iterator[Callable[[Scene], Site]]:
    """show(scene): serve it; everything is stopped after the test."""
    server = _Server()
    followers = []

    def serve(scene: Scene) -> Site:
        scene.look()
        current.use(scene.web)
        scene.web.follower.start()
        followers.append(scene.web.follower)
        server.start()
        return Site(scene, f"http://127.0.0.1:{server.port}", stop=server.stop, start=server.start)

    yield serve
    server.stop()
    for follower in followers:
        follower.stop()
    current.use(None)
