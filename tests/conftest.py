"""For every test: nothing of the machine's own dradash or Redis is touched, and browsers come last."""

from __future__ import annotations

import os

import pytest

for _name in list(os.environ):
    # A REDIS_URL of the person who runs the tests is a real one: no test may write there.
    if _name == "REDIS_URL" or _name.startswith("DRADASH_"):
        del os.environ[_name]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Quick tests first; browser tests last, because Playwright's own event loop breaks async tests that follow it."""
    order = ("/unit/", "/parity/", "/contract/", "/acceptance/", "/browser/")

    def rank(item: pytest.Item) -> int:
        return next((n for n, part in enumerate(order) if part in item.path.as_posix()), 0)

    items.sort(key=rank)
